#include "net/released.h"

#include <algorithm>
#include <cmath>

namespace feroma::net {
namespace {

/// Digits of a name for data, at most.
constexpr std::size_t kLongestName = 64;

std::string visits_of(std::optional<ClientId> visitor) {
  return visitor ? fmt::format("visitor {} ", to_index(*visitor)) : "visitor - ";
}

}  // namespace

v1::Released to_wire(const ReleaseCount& count, const std::string& data) {
  v1::Released released;
  released.set_releases(count.releases);
  released.set_rho(count.rho);
  if (count.epsilon) {
    released.set_epsilon(*count.epsilon);
  }
  released.set_data(data);
  return released;
}

ReleaseCount from_wire(const v1::Released& released) {
  ReleaseCount count{released.releases(), released.rho(), {}};
  if (released.has_epsilon()) {
    count.epsilon = released.epsilon();
  }
  return count;
}

void check_released(const ReleaseCount& count) {
  const double epsilon = count.epsilon.value_or(0);
  if (!std::isfinite(count.rho) || count.rho < 0 || !std::isfinite(epsilon) || epsilon < 0) {
    throw Refusal{v1::MALFORMED, "what releases cost must be a number and not below 0"};
  }
}

std::string releaser(std::optional<ClientId> number, bool is_visitor, const std::string& data) {
  const bool is_name = data.size() <= kLongestName && data.empty() != is_visitor &&
                       data.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_name) {
    throw Refusal{v1::MALFORMED, "a name for data must be hexadecimal, and visitors alone have one"};
  }
  return is_visitor ? visits_of(number) + data : fmt::format("client {}", to_index(number.value()));
}

std::optional<std::string> data_of(const std::string& releaser, std::optional<ClientId> visitor) {
  const std::string visits = visits_of(visitor);
  return releaser.starts_with(visits) ? std::optional(releaser.substr(visits.size())) : std::nullopt;
}

}  // namespace feroma::net
