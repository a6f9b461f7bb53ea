#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace feroma {

/// Puts a vector's values on a boundary of 64 bytes, where every SIMD unit can load whole vectors.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* values, std::size_t) { ::operator delete(values, kAlignment); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

using AlignedVector = std::vector<float, AlignedAllocator<float>>;

}  // namespace feroma
