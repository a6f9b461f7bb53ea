#include <cstdint>

#include "feroma/data/csv.h"

namespace feroma {
namespace {

/// Bytes of the sequence that `lead` opens; 0 if none starts with it.
std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xc2 && lead <= 0xdf) {
    return 2;
  }
  if ((lead & 0xf0) == 0xe0) {
    return 3;
  }
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/// The least code point that needs so many bytes: shorter ones would be a second spelling.
constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = sequence_length(lead);
    if (length == 0 || length > text.size() - at) {
      return at;
    }
    std::uint32_t code = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xc0) != 0x80) {
        return at;
      }
      code = code << 6 | (next & 0x3fU);
    }
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < kLeast[length] || code > 0x10ffff || surrogate) {
      return at;
    }
    at += length;
  }
  return at;
}

}  // namespace feroma
