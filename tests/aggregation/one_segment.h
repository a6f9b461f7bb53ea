#pragma once

#include <memory>

#include "feroma/models/parameters.h"

namespace feroma::test {

/// A model that is one vector.
inline std::shared_ptr<const ParamLayout> layout_of(std::size_t size) {
  auto layout = std::make_shared<ParamLayout>();
  layout->add("w", SegmentKind::weight, {static_cast<std::int64_t>(size)});
  return layout;
}

}  // namespace feroma::test
