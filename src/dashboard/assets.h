#pragma once

#include <span>
#include <string_view>

namespace feroma::dashboard {

/// A file of the page, built in; compressed by gzip.
struct Asset {
  std::string_view path;  ///< "/", "/assets/index-1a2b.js"
  std::string_view type;
  std::string_view gzip;
};

/// All of them; made from apps/dashboard by its embed.mjs.
[[nodiscard]] std::span<const Asset> assets();

}  // namespace feroma::dashboard
