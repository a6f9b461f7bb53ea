#pragma once

#include <filesystem>
#include <memory>

#include "feroma/data/dataset.h"
#include "feroma/data/view.h"

namespace feroma {

/// What somebody brings who did not train: samples in the order of the files, a few of them or all or none labelled.
struct VisitorData {
  std::shared_ptr<const Dataset> dataset;  ///< both views borrow from it; shared so that it outlives copies of them
  View all;
  View labelled;  ///< the samples that have a label; empty where none has
};

/// Reads a folder as docs/data.md describes it. Where nothing tells the number of classes, the dataset has as many as
/// its labels need, and at least one: what the model knows decides. `model` as for read_own_folder.
[[nodiscard]] VisitorData read_visitor_data(const std::filesystem::path& folder, const DataNames& model = {});

}  // namespace feroma
