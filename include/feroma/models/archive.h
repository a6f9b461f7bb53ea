#pragma once

#include <functional>
#include <string>
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
  /// Puts a model somewhere else and returns the name under which it is found there.
  using Place = std::function<std::string(const Parameters&)>;

  /// With `place`, the archive holds names instead of values.
  explicit ModelWriter(ArchiveWriter& out, Place place = {}) : out_(out), place_(std::move(place)) {}

  void put(const ParametersPtr& params);  ///< null is allowed
  void put(const Message& message);
  [[nodiscard]] ArchiveWriter& out() { return out_; }

 private:
  ArchiveWriter& out_;
  Place place_;
  std::unordered_map<ParametersPtr, std::uint32_t> written_;  ///< keeps them alive: an address must not come twice
};

/// Values of a message, at most: a method has a few, or one for each of its models.
inline constexpr std::uint64_t kMostValues = 16'384;

/// Reads what ModelWriter wrote; every model must have `layout`'s size and finite or not, exactly the stored bits.
class ModelReader {
 public:
  /// Finds the values of a model that was placed under a name; without it such a model is refused.
  using Fetch = std::function<std::vector<float>(const std::string& name)>;

  ModelReader(ArchiveReader& in, std::shared_ptr<const ParamLayout> layout, Fetch fetch = {})
      : in_(in), layout_(std::move(layout)), fetch_(std::move(fetch)) {}

  [[nodiscard]] ParametersPtr get_model();
  [[nodiscard]] Message get_message();
  [[nodiscard]] ArchiveReader& in() { return in_; }

 private:
  [[nodiscard]] ParametersPtr checked_model(std::span<const float> values);

  ArchiveReader& in_;
  std::shared_ptr<const ParamLayout> layout_;
  Fetch fetch_;
  std::vector<ParametersPtr> read_;
};

}  // namespace feroma
