#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "feroma/core/options.h"
#include "feroma/data/catalog.h"

namespace feroma {

/// Reads and validates a user's own folder for somebody. Unlike a scenario's, the data of a client or visitor need no
/// test split: it is empty where no test files are named, and always for a visitor.
[[nodiscard]] std::shared_ptr<const Dataset> read_own_folder(const std::filesystem::path& folder, FolderRole role);

/// What there is to say of samples with numbers far larger than the 1 or so that networks start out for; empty where
/// there are none, and for pictures.
[[nodiscard]] std::string large_inputs(const Samples& samples);
/// Networks start out for inputs of about 1: from columns like 125 mmHg they learn badly, and nothing else would say
/// why. For samples of `folder` that a model takes as they are.
void warn_of_large_inputs(const Samples& samples, const std::filesystem::path& folder);

/// Every key that a folder's dataset.toml may have.
[[nodiscard]] std::vector<OptionInfo> own_dataset_options();

}  // namespace feroma
