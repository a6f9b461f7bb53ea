#include "checks.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "feroma/core/number.h"

namespace feroma::cli {
namespace {

std::string refusal(bool good, std::string_view rule, const std::string& given) {
  return good ? "" : fmt::format("must be {}, got {}", rule, given);
}

}  // namespace

std::string must_be_address(const std::string& given) {
  const std::size_t colon = given.rfind(':');
  const bool good = colon != std::string::npos && colon > 0 &&
                    parse_number<std::uint16_t>(std::string_view(given).substr(colon + 1)).has_value();
  return refusal(good, "HOST:PORT with a port up to 65535, like 127.0.0.1:7443", given);
}

std::string must_be_whole(const std::string& given) {
  return refusal(parse_number<std::int64_t>(given).value_or(-1) >= 0, "a whole number >= 0", given);
}

std::string must_be_positive(const std::string& given) {
  const double value = parse_number<double>(given).value_or(0);
  return refusal(value > 0 && std::isfinite(value), "a number > 0", given);
}

}  // namespace feroma::cli
