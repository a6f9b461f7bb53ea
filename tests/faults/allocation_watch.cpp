#include "tests/faults/allocation_watch.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> watching{false};
std::atomic<std::size_t> largest_seen{0};

void note(std::size_t size) {
  if (!watching.load(std::memory_order_relaxed)) {
    return;
  }
  std::size_t seen = largest_seen.load();
  while (size > seen && !largest_seen.compare_exchange_weak(seen, size)) {
  }
}

}  // namespace

// Every `new` of the test program comes through here.
void* operator new(std::size_t size) {
  note(size);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace feroma::faults {

AllocationWatch::AllocationWatch() {
  largest_seen = 0;
  watching = true;
}

AllocationWatch::~AllocationWatch() { watching = false; }

std::size_t AllocationWatch::largest() { return largest_seen; }

}  // namespace feroma::faults
