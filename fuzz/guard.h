#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
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

/// Any input is either read or refused: invalid_data or invalid_config. Every other end is a bug.
template <class Parse>
int guarded(Parse&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_data && error.code() != ErrorCode::invalid_config) {
      std::abort();
    }
  }
  return 0;
}

}  // namespace feroma::fuzz
