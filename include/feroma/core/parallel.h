#pragma once

#include <cstddef>
#include <functional>

namespace feroma {

/// Calls task(i) for i in 0..count-1, in any order and perhaps on several threads, and returns when all are done.
using Parallel = std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)>;

/// One after the other, on the calling thread.
inline void in_turn(std::size_t count, const std::function<void(std::size_t)>& task) {
  for (std::size_t i = 0; i < count; ++i) {
    task(i);
  }
}

}  // namespace feroma
