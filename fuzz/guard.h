#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string_view>

#include "feroma/core/error.h"

namespace feroma::fuzz {

inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Any input is either read or refused: invalid_data or invalid_config, or what the target says may be. Every other end
/// is a bug.
template <class Parse>
int guarded(Parse&& parse, std::initializer_list<ErrorCode> also = {}) {
  try {
    parse();
  } catch (const Error& error) {
    const bool refused = error.code() == ErrorCode::invalid_data || error.code() == ErrorCode::invalid_config;
    if (!refused && std::find(also.begin(), also.end(), error.code()) == also.end()) {
      std::fprintf(stderr, "an error of another kind: %s\n", error.what());
      std::abort();
    }
  }
  return 0;
}

/// What must hold for every input that is read.
inline void expect(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
  }
}

}  // namespace feroma::fuzz
