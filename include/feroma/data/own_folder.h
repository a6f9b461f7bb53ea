#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/options.h"
#include "feroma/data/catalog.h"

namespace feroma {

/// What is asked about a folder whose dataset.toml leaves it open, and need not be where a model's names say it.
class OpenQuestion : public Error {
 public:
  using Error::Error;
};

/// Reads and validates a user's own folder for somebody. Unlike a scenario's, the data of a client or visitor need no
/// test split: it is empty where no test files are named, and always for a visitor. Where `model` names classes, labels
/// that are words get the numbers that the words have there, and one that is none of them is refused; where it names
/// columns, a table's inputs are those, in that order.
[[nodiscard]] std::shared_ptr<const Dataset> read_own_folder(const std::filesystem::path& folder, FolderRole role,
                                                             const DataNames& model = {});

/// What there is to say of samples with numbers far larger than the 1 or so that networks start out for; empty where
/// there are none, and for pictures.
[[nodiscard]] std::string large_inputs(const Samples& samples);
/// Networks start out for inputs of about 1: from columns like 125 mmHg they learn badly, and nothing else would say
/// why. For samples of `folder` that a model takes as they are.
void warn_of_large_inputs(const Samples& samples, const std::filesystem::path& folder);

/// Every key that a folder's dataset.toml may have.
[[nodiscard]] std::vector<OptionInfo> own_dataset_options();

}  // namespace feroma
