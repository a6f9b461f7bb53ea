#include <array>
#include <charconv>
#include <string_view>

#include "data/readers.h"
#include "data/sample_arrays.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

constexpr int kWindow = 128;
/// The order of the channels: total acceleration, then body acceleration, then angular velocity.
constexpr std::array<std::string_view, 9> kSignals{"total_acc_x", "total_acc_y", "total_acc_z",
                                                   "body_acc_x",  "body_acc_y",  "body_acc_z",
                                                   "body_gyro_x", "body_gyro_y", "body_gyro_z"};

/// The numbers of a text file, separated by blanks; `per_line` of them on each line.
std::vector<float> read_numbers(const fs::path& path, std::size_t per_line) {
  const std::string text = read_text(path);
  std::vector<float> values;
  std::size_t line = 1;
  std::size_t on_line = 0;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (at != end) {
    if (*at == '\n') {
      require(on_line == per_line, ErrorCode::invalid_data, "[uci-har] {}:{}: every line must have {} numbers, got {}",
              path.string(), line, per_line, on_line);
      ++line;
      on_line = 0;
      ++at;
    } else if (*at == ' ' || *at == '\r') {
      ++at;
    } else {
      float value = 0;
      const auto [rest, error] = std::from_chars(at, end, value);
      require(error == std::errc(), ErrorCode::invalid_data,
              "[uci-har] {}:{}: must hold numbers, got '{}' at offset {}", path.string(), line, *at, at - text.data());
      values.push_back(value);
      ++on_line;
      at = rest;
    }
  }
  require(on_line == 0 || on_line == per_line, ErrorCode::invalid_data,
          "[uci-har] {}:{}: every line must have {} numbers, got a file that ends after {}", path.string(), line,
          per_line, on_line);
  return values;
}

std::vector<std::int32_t> read_ids(const fs::path& path, std::size_t count, int most) {
  std::vector<std::int32_t> ids;
  for (const float value : read_numbers(path, 1)) {
    const auto id = static_cast<std::int32_t>(value);
    require(value >= 1 && value <= static_cast<float>(most) && static_cast<float>(id) == value, ErrorCode::invalid_data,
            "[uci-har] {}:{}: must be a whole number in 1..{}, got {}", path.string(), ids.size() + 1, most, value);
    ids.push_back(id - 1);
  }
  require(ids.size() == count, ErrorCode::invalid_data, "[uci-har] {}: must have one line per window ({}), got {}",
          path.string(), count, ids.size());
  return ids;
}

Samples read_text_split(const fs::path& folder, const std::string& split, int classes) {
  constexpr int kMostSubjects = 30;
  Samples samples;
  samples.shape = {.channels = static_cast<int>(kSignals.size()), .height = 1, .width = kWindow};
  const auto row = static_cast<std::size_t>(samples.shape.size());
  std::size_t windows = 0;
  for (std::size_t c = 0; c < kSignals.size(); ++c) {
    const fs::path path = folder / split / "Inertial Signals" / fmt::format("{}_{}.txt", kSignals[c], split);
    const std::vector<float> values = read_numbers(path, kWindow);
    if (c == 0) {
      windows = values.size() / kWindow;
      samples.values.resize(windows * row);
    }
    require(values.size() == windows * kWindow, ErrorCode::invalid_data,
            "[uci-har] {}: must have as many windows as {} ({}), got {}", path.string(), kSignals[0], windows,
            values.size() / kWindow);
    for (std::size_t i = 0; i < values.size(); ++i) {
      samples.values[i / kWindow * row + c * kWindow + i % kWindow] = values[i];
    }
  }
  samples.labels = read_ids(folder / split / fmt::format("y_{}.txt", split), windows, classes);
  samples.owners = read_ids(folder / split / fmt::format("subject_{}.txt", split), windows, kMostSubjects);
  return samples;
}

Samples read_npy_split(const fs::path& folder, const std::string& split, const DatasetEntry& entry) {
  const NpyArray inputs = read_npy(folder / (split + "_x.npy"));
  const NpyArray labels = read_npy(folder / (split + "_y.npy"));
  const NpyArray subjects = read_npy(folder / (split + "_subject.npy"));
  return to_samples({.inputs = &inputs, .labels = &labels, .owners = &subjects}, entry.shape, entry.classes);
}

bool has_text_form(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "train" / "Inertial Signals", ignored) &&
         fs::is_regular_file(folder / "test" / "y_test.txt", ignored);
}

}  // namespace

bool holds_har(const fs::path& folder) {
  std::error_code ignored;
  return has_text_form(folder) ||
         (fs::is_regular_file(folder / "train_x.npy", ignored) && fs::is_regular_file(folder / "test_x.npy", ignored));
}

Dataset read_har(const DatasetEntry& entry, const fs::path& folder, const LoadOptions& /*options*/) {
  Dataset dataset;
  dataset.name = entry.name;
  dataset.classes = entry.classes;
  dataset.class_names = {"walking", "walking upstairs", "walking downstairs", "sitting", "standing", "laying"};
  const bool text = has_text_form(folder);
  dataset.train = text ? read_text_split(folder, "train", entry.classes) : read_npy_split(folder, "train", entry);
  dataset.test = text ? read_text_split(folder, "test", entry.classes) : read_npy_split(folder, "test", entry);
  return dataset;
}

}  // namespace feroma::detail
