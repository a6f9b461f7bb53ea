#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>

namespace feroma::detail {

/// Of how many things a figure shows how many.
struct ShownPart {
  std::size_t shown = 0;
  std::size_t all = 0;

  [[nodiscard]] bool whole() const { return shown >= all; }
  /// A sentence for a caption, with a blank before it: " Drawn are 20 of 100 clients, evenly."; empty where all are.
  [[nodiscard]] std::string sentence(const char* things) const {
    return whole() ? std::string() : fmt::format(" Drawn are {} of {} {}.", shown, all, things);
  }
};

}  // namespace feroma::detail
