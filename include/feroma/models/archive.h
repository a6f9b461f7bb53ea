#pragma once

#include <unordered_map>
#include <vector>

#include "feroma/core/archive.h"
#include "feroma/models/message.h"
#include "feroma/models/parameters.h"

namespace feroma {

/**
 * Writes models and messages into an archive. A model that several owners share is written once and referred to
 * afterwards, so a checkpoint of many clients that hold the same encoder stays small.
 */
class ModelWriter {
 public:
  explicit ModelWriter(ArchiveWriter& out) : out_(out) {}

  void put(const ParametersPtr& params);  ///< null is allowed
  void put(const Message& message);
  [[nodiscard]] ArchiveWriter& out() { return out_; }

 private:
  ArchiveWriter& out_;
  std::unordered_map<ParametersPtr, std::uint32_t> written_;  ///< keeps them alive: an address must not come twice
};

/// Reads what ModelWriter wrote; every model must have `layout`'s size and finite or not, exactly the stored bits.
class ModelReader {
 public:
  ModelReader(ArchiveReader& in, std::shared_ptr<const ParamLayout> layout) : in_(in), layout_(std::move(layout)) {}

  [[nodiscard]] ParametersPtr get_model();
  [[nodiscard]] Message get_message();
  [[nodiscard]] ArchiveReader& in() { return in_; }

 private:
  ArchiveReader& in_;
  std::shared_ptr<const ParamLayout> layout_;
  std::vector<ParametersPtr> read_;
};

}  // namespace feroma
