#include "data/chest_xrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "data/readers.h"
#include "feroma/core/error.h"
#include "feroma/core/npy.h"
#include "feroma/data/csv.h"
#include "feroma/data/picture.h"
#include "feroma/data/split.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFindings = 14;

/// The eight distributions of view, age and sex, in the order of the ids: view changes slowest.
std::vector<std::string> domain_names(std::string_view first_view, std::string_view second_view) {
  std::vector<std::string> names;
  for (const std::string_view view : {first_view, second_view}) {
    for (const std::string_view age : {"young", "old"}) {
      for (const std::string_view sex : {"female", "male"}) {
        names.push_back(fmt::format("{}/{}/{}", view, age, sex));
      }
    }
  }
  return names;
}

/// 0 if the cell is the first word, 1 if it is the second; anything else is refused.
int which_of(const CsvTable& table, std::size_t row, std::size_t column, std::string_view first,
             std::string_view second) {
  const std::string_view cell = table.cell(row, column);
  require(cell == first || cell == second, ErrorCode::invalid_data,
          "[csv] {}:{}: column \"{}\" must be {} or {}, got \"{}\"", table.name(), table.line(row),
          table.columns()[column], first, second, cell);
  return cell == second ? 1 : 0;
}

std::int32_t domain_of(int view, double age, int sex, double threshold) {
  return 4 * view + 2 * (age >= threshold ? 1 : 0) + sex;
}

double age_in(const CsvTable& table, std::size_t row, std::size_t column) {
  const double age = table.number(row, column);
  require(age >= 0 && age <= 150, ErrorCode::invalid_data, "[csv] {}:{}: column \"{}\" must be in 0..150, got {}",
          table.name(), table.line(row), table.columns()[column], age);
  return age;
}

/// The patient's number out of ".../patient00001/...".
std::int32_t patient_of(const CsvTable& table, std::size_t row, std::string_view path) {
  constexpr std::string_view kMark = "/patient";
  const std::size_t mark = path.find(kMark);
  std::int32_t patient = 0;
  const char* begin = mark == std::string_view::npos ? path.data() : path.data() + mark + kMark.size();
  const auto [rest, error] = std::from_chars(begin, path.data() + path.size(), patient);
  require(mark != std::string_view::npos && error == std::errc() && patient >= 0, ErrorCode::invalid_data,
          "[csv] {}:{}: column \"Path\" must name a patient, like .../patient00001/..., got \"{}\"", table.name(),
          table.line(row), path);
  return patient;
}

/// 1 for present (1.0) and uncertain (-1.0), 0 for absent (0.0) and not mentioned (empty).
std::uint8_t chexpert_target(const CsvTable& table, std::size_t row, std::size_t column) {
  if (table.cell(row, column).empty()) {
    return 0;
  }
  const double value = table.number(row, column);
  require(value == 0 || value == 1 || value == -1, ErrorCode::invalid_data,
          "[csv] {}:{}: column \"{}\" must be 1, 0, -1 or empty, got {}", table.name(), table.line(row),
          table.columns()[column], value);
  return value == 0 ? 0 : 1;
}

/// A path below the dataset's folder; the table writes the official folder's name in front of it.
fs::path picture_path(const fs::path& folder, const CsvTable& table, std::size_t row, std::string_view path) {
  const std::size_t slash = path.find('/');
  const fs::path below = slash == std::string_view::npos ? fs::path(path) : fs::path(path.substr(slash + 1));
  const bool climbs = std::any_of(below.begin(), below.end(), [](const fs::path& part) { return part == ".."; });
  require(!climbs && below.is_relative() && !below.empty(), ErrorCode::invalid_data,
          "[csv] {}:{}: column \"Path\" must stay in its folder, got \"{}\"", table.name(), table.line(row), path);
  return folder / below;
}

struct ChexpertColumns {
  std::size_t path, sex, age, view;
  std::vector<std::size_t> findings;
};

ChexpertColumns chexpert_columns(const CsvTable& table) {
  ChexpertColumns columns{.path = table.column("Path"),
                          .sex = table.column("Sex"),
                          .age = table.column("Age"),
                          .view = table.column("Frontal/Lateral"),
                          .findings = {}};
  const std::size_t first = table.column("AP/PA") + 1;
  require(table.columns().size() == first + kFindings, ErrorCode::invalid_data,
          "[csv] {}: must have {} findings after column AP/PA, got {}", table.name(), kFindings,
          table.columns().size() - first);
  for (std::size_t i = 0; i < kFindings; ++i) {
    columns.findings.push_back(first + i);
  }
  return columns;
}

void append_chexpert_row_(Samples& samples, const CsvTable& table, const ChexpertColumns& columns, std::size_t row,
                          const fs::path& folder, const LoadOptions& options) {
  const std::string_view path = table.cell(row, columns.path);
  append_picture_file_(samples.pixels, picture_path(folder, table, row, path), 1, options.image_size,
                       options.image_size);
  samples.labels.push_back(0);
  for (const std::size_t column : columns.findings) {
    samples.targets.push_back(chexpert_target(table, row, column));
  }
  // One patient's sex is written as Unknown in the official table; it counts as female, the first of the two.
  const bool unknown = table.cell(row, columns.sex) == "Unknown";
  const int sex = unknown ? 0 : which_of(table, row, columns.sex, "Female", "Male");
  const int view = which_of(table, row, columns.view, "Frontal", "Lateral");
  samples.domains.push_back(domain_of(view, age_in(table, row, columns.age), sex, options.age_threshold));
  samples.owners.push_back(patient_of(table, row, path));
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

Dataset read_chexpert_rows(const fs::path& folder, std::size_t train_rows, std::size_t test_rows,
                           const LoadOptions& options) {
  const CsvTable table = read_csv(folder / "train.csv", train_rows + test_rows);
  require(table.rows() == train_rows + test_rows, ErrorCode::invalid_data,
          "[csv] {}: must have at least {} rows, got {}", table.name(), train_rows + test_rows, table.rows());
  const ChexpertColumns columns = chexpert_columns(table);
  Dataset dataset;
  dataset.name = "chexpert";
  dataset.classes = static_cast<int>(kFindings);
  dataset.domain_names = domain_names("frontal", "lateral");
  for (const std::size_t column : columns.findings) {
    dataset.class_names.push_back(table.columns()[column]);
  }
  for (Samples* samples : {&dataset.train, &dataset.test}) {
    samples->shape = {.channels = 1, .height = options.image_size, .width = options.image_size};
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    append_chexpert_row_(row < train_rows ? dataset.train : dataset.test, table, columns, row, folder, options);
  }
  return dataset;
}

Dataset read_chexpert(const DatasetEntry& /*entry*/, const fs::path& folder, const LoadOptions& options) {
  constexpr std::size_t kTrainRows = 100'000;
  constexpr std::size_t kTestRows = 20'000;
  return read_chexpert_rows(folder, kTrainRows, kTestRows, options);
}

Dataset read_nih(const DatasetEntry& entry, const fs::path& folder, const LoadOptions& options) {
  const CsvTable table = read_csv(folder / "metadata.csv");
  NpyArray pictures = read_npy(folder / "x.npy");
  const std::vector<std::int64_t> wanted{static_cast<std::int64_t>(table.rows()), 1, entry.shape.height,
                                         entry.shape.width};
  require(pictures.shape == wanted, ErrorCode::invalid_data,
          "[npy] {}: must be {} like the rows of metadata.csv, got {}", pictures.name, fmt::join(wanted, " x "),
          fmt::join(pictures.shape, " x "));
  Dataset dataset;
  dataset.name = entry.name;
  dataset.classes = entry.classes;
  dataset.domain_names = domain_names("PA", "AP");
  const std::size_t view = table.column("view");
  const std::size_t age = table.column("age");
  const std::size_t sex = table.column("sex");
  const std::size_t patient = table.column("patient_id");
  const std::size_t first = view + 1;
  require(table.columns().size() == first + kFindings, ErrorCode::invalid_data,
          "[csv] {}: must have {} findings after column view, got {}", table.name(), kFindings,
          table.columns().size() - first);
  dataset.class_names.assign(table.columns().begin() + static_cast<std::ptrdiff_t>(first), table.columns().end());
  Samples all;
  all.shape = entry.shape;
  all.pixels = pictures.as<std::uint8_t>();
  all.labels.assign(table.rows(), 0);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t i = 0; i < kFindings; ++i) {
      const std::int64_t finding = table.integer(row, first + i);
      require(finding == 0 || finding == 1, ErrorCode::invalid_data,
              "[csv] {}:{}: column \"{}\" must be 0 or 1, got {}", table.name(), table.line(row),
              table.columns()[first + i], finding);
      all.targets.push_back(static_cast<std::uint8_t>(finding));
    }
    all.domains.push_back(domain_of(which_of(table, row, view, "PA", "AP"), age_in(table, row, age),
                                    which_of(table, row, sex, "F", "M"), options.age_threshold));
    const std::int64_t id = table.integer(row, patient);
    require(id >= 0 && id <= std::int64_t{1} << 30, ErrorCode::invalid_data,
            "[csv] {}:{}: column \"patient_id\" must be in 0..2^30, got {}", table.name(), table.line(row), id);
    all.owners.push_back(static_cast<std::int32_t>(id));
  }
  split_(dataset, all, SplitRule::owner, kHeldOut);
  return dataset;
}

bool holds_chexpert(const fs::path& folder) { return is_file(folder / "train.csv"); }

bool holds_nih(const fs::path& folder) { return is_file(folder / "x.npy") && is_file(folder / "metadata.csv"); }

}  // namespace feroma::detail
