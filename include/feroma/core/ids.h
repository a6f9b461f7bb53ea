#pragma once

#include <cstdint>

namespace feroma {

/// A client's identity, stable over the whole run.
enum class ClientId : std::uint32_t {};

[[nodiscard]] constexpr std::uint32_t to_index(ClientId client) { return static_cast<std::uint32_t>(client); }

/// Communication rounds count from 1, as the paper does; 0 means "before the first round".
using Round = int;

}  // namespace feroma
