#pragma once

#include <span>
#include <string>

#include "feroma/preview/preview.h"

namespace feroma {

/// A page that needs nothing else: the sheet (a PNG file's bytes), what each distribution is, and the ids and counts.
[[nodiscard]] std::string preview_html(const Preview& preview, std::span<const std::byte> png);

}  // namespace feroma
