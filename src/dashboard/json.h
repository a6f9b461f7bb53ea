#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace feroma::dashboard {

using Json = nlohmann::ordered_json;

/// JSON has no infinities; null says that there is no usable value.
[[nodiscard]] inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// Labels and reasons may hold anything; what is not UTF-8 is replaced.
[[nodiscard]] inline std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace feroma::dashboard
