#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "data/origin.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/data/picture.h"

namespace feroma::detail {
namespace {

constexpr int kPictures = 10'000;
constexpr int kPixels = 32 * 32;
constexpr std::array<std::string_view, 5> kTrainBatches{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                                                        "data_batch_5"};

/// The labels of one batch, out of the list of its split.
std::vector<std::uint8_t> labels_of(const std::filesystem::path& path, std::size_t first) {
  nlohmann::json list;
  try {
    list = nlohmann::json::parse(read_text(path));
  } catch (const nlohmann::json::exception& error) {
    // The JSON library throws its own type; ours names the file.
    fail(ErrorCode::invalid_data, "[cifar] {}: must be a JSON list, got: {}", path.string(), error.what());
  }
  require(list.is_array() && list.size() >= first + kPictures, ErrorCode::invalid_data,
          "[cifar] {}: must list at least {} labels, got {}", path.string(), first + kPictures, list.size());
  std::vector<std::uint8_t> labels;
  for (std::size_t i = first; i < first + kPictures; ++i) {
    require(list[i].is_number_unsigned() && list[i].get<unsigned>() < 10, ErrorCode::invalid_data,
            "[cifar] {}: labels must be in 0..9, got {} at place {}", path.string(), list[i].dump(), i);
    labels.push_back(list[i].get<std::uint8_t>());
  }
  return labels;
}

}  // namespace

Bytes cifar_batch_from_sheet(const std::filesystem::path& folder, std::string_view file) {
  const std::string_view batch = file.substr(0, file.rfind('.'));
  const auto train = std::find(kTrainBatches.begin(), kTrainBatches.end(), batch);
  const bool is_train = train != kTrainBatches.end();
  // The package spells it "lables".
  const std::vector<std::uint8_t> labels =
      labels_of(folder / (is_train ? "train_lables.json" : "test_lables.json"),
                is_train ? static_cast<std::size_t>(train - kTrainBatches.begin()) * kPictures : 0);
  const std::filesystem::path sheet_path = folder / fmt::format("{}.png", batch);
  const Picture sheet = decode_png(read_file(sheet_path), sheet_path.string());
  require(sheet.width == kPixels && sheet.height == kPictures && sheet.channels == 3, ErrorCode::invalid_data,
          "[cifar] {}: the sheet must be {} x {} RGB pixels, got {} x {} with {} channels", sheet_path.string(),
          kPixels, kPictures, sheet.width, sheet.height, sheet.channels);
  Bytes bytes;
  bytes.reserve(std::size_t{kPictures} * (1 + 3 * kPixels));
  for (std::size_t i = 0; i < kPictures; ++i) {
    bytes.push_back(std::byte{labels[i]});
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < kPixels; ++p) {
        bytes.push_back(std::byte{sheet.pixels[(i * kPixels + p) * 3 + c]});
      }
    }
  }
  return bytes;
}

}  // namespace feroma::detail
