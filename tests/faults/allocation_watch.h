#pragma once

#include <cstddef>

namespace feroma::faults {

/// The largest single piece of memory that any thread asked for while the object lives. One at a time.
class AllocationWatch {
 public:
  AllocationWatch();
  ~AllocationWatch();
  AllocationWatch(const AllocationWatch&) = delete;
  AllocationWatch& operator=(const AllocationWatch&) = delete;
  [[nodiscard]] static std::size_t largest();
};

}  // namespace feroma::faults
