#include "feroma/data/own_folder.h"

#include <array>

#include "data/own_dataset.h"
#include "feroma/core/error.h"
#include "feroma/data/split.h"

namespace feroma {

std::shared_ptr<const Dataset> read_own_folder(const std::filesystem::path& folder, FolderRole role) {
  std::error_code ignored;
  require(std::filesystem::is_directory(folder, ignored), ErrorCode::invalid_config,
          "[dataset] {} must be a folder with a {} or with pictures, got no folder", folder.string(),
          detail::kOwnDatasetFile);
  LoadOptions options;
  options.role = role;
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

std::vector<OptionInfo> own_dataset_options() { return describe_options<detail::OwnDatasetOptions>("dataset"); }

}  // namespace feroma
