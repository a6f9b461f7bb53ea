#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "feroma/models/parameters.h"

namespace feroma {

using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;
using Blob = std::variant<Floats, Ints, ParametersPtr>;

/**
 * What travels between server and client, and what a client remembers: named values, nothing else.
 * Serialisable from the first day, so that the simulator and the network run the same algorithm code.
 */
struct Message {
  std::map<std::string, Blob> values;

  [[nodiscard]] bool has(const std::string& key) const { return values.contains(key); }
  /// The value under `key`; a missing key or another type is an invalid_data error naming it.
  [[nodiscard]] const Floats& floats(const std::string& key) const;
  [[nodiscard]] const Ints& ints(const std::string& key) const;
  [[nodiscard]] std::int64_t integer(const std::string& key) const;
  [[nodiscard]] const ParametersPtr& model(const std::string& key) const;
  /// Payload bytes on the wire: 4 per float, 8 per integer.
  [[nodiscard]] std::int64_t bytes() const;
};

}  // namespace feroma
