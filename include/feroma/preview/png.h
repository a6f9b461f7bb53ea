#pragma once

#include "feroma/core/archive.h"
#include "feroma/preview/canvas.h"

namespace feroma {

/// The canvas as a PNG file; the same pixels give the same bytes.
[[nodiscard]] Bytes encode_png(const Canvas& canvas);

}  // namespace feroma
