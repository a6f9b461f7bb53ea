#include "feroma/data/own_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/own_dataset.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/data/split.h"

namespace feroma {

std::shared_ptr<const Dataset> read_own_folder(const std::filesystem::path& folder, FolderRole role,
                                               const DataNames& model) {
  std::error_code ignored;
  require(std::filesystem::is_directory(folder, ignored), ErrorCode::invalid_config,
          "[dataset] {} must be a folder with a {} or with pictures, got no folder", folder.string(),
          detail::kOwnDatasetFile);
  LoadOptions options;
  options.role = role;
  options.model = model;
  auto dataset = std::make_shared<Dataset>(detail::read_own_dataset(folder, options));
  require(dataset->train.count() > 0, ErrorCode::invalid_data, "[dataset] {}: must have samples, got none",
          folder.string());
  if (role == FolderRole::scenario || dataset->test.count() > 0) {
    check_dataset(*dataset);
    return dataset;
  }
  // The checks are those of every dataset; while they run, one sample stands in for the absent test split.
  dataset->test = take_samples(dataset->train, std::array<std::uint32_t, 1>{0}, dataset->classes);
  check_dataset(*dataset);
  dataset->test = {};
  return dataset;
}

std::string large_inputs(const Samples& samples) {
  constexpr double kLarge = 10;
  std::vector<double> squares(static_cast<std::size_t>(samples.shape.size()));
  for (std::size_t i = 0; i < samples.values.size(); ++i) {
    const auto value = static_cast<double>(samples.values[i]);
    squares[i % squares.size()] += value * value;
  }
  const auto largest = std::max_element(squares.begin(), squares.end());
  const double rms = samples.values.empty() ? 0 : std::sqrt(*largest / static_cast<double>(samples.count()));
  if (rms <= kLarge) {
    return "";
  }
  const auto place = static_cast<std::size_t>(largest - squares.begin());
  return fmt::format("its inputs are large (number {} of a sample{} has the root mean square {:.3g})", place + 1,
                     place < samples.columns.size() ? ", " + samples.columns[place] + "," : "", rms);
}

void warn_of_large_inputs(const Samples& samples, const std::filesystem::path& folder) {
  if (const std::string large = large_inputs(samples); !large.empty()) {
    log::warning(
        "{}: {}, and models that were not trained with training.standardise take them as they are; each should have "
        "the same scale at all sites, about mean 0 and deviation 1, or they learn little",
        folder.string(), large);
  }
}

std::vector<OptionInfo> own_dataset_options() { return describe_options<detail::OwnDatasetOptions>("dataset"); }

}  // namespace feroma
