#include "feroma/core/distinct_draws.h"

#include "feroma/core/error.h"

namespace feroma {

std::uint32_t DistinctDraws::next() {
  require(drawn_ < size_, ErrorCode::internal, "[rng] cannot draw more than {} distinct values", size_);
  const auto front = static_cast<std::uint32_t>(drawn_);
  const auto chosen = static_cast<std::uint32_t>(drawn_ + rng_.below(size_ - drawn_));
  ++drawn_;
  // A step of Fisher-Yates: the front goes where the chosen value was. Positions nobody touched hold themselves.
  const auto moved = moved_.find(front);
  const std::uint32_t front_value = moved == moved_.end() ? front : moved->second;
  const auto [place, untouched] = moved_.try_emplace(chosen, front_value);
  if (untouched) {
    return chosen;
  }
  const std::uint32_t value = place->second;
  place->second = front_value;
  return value;
}

}  // namespace feroma
