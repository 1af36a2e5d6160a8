#include "troupe/tests/emulated_cuda/fiber_pool.hpp"

#include <sys/mman.h>

#include <new>

namespace emulated_cuda {

namespace {

// Enough for frames with sanitizers, which are several times larger.
constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::size_t kStacksPerSlab = 32;
// The offset makes stacks begin at different positions of a page. Otherwise they would share few cache lines.
constexpr std::size_t kPitch = kStackBytes + 17 * 64;
constexpr std::size_t kSlabBytes = kPitch * kStacksPerSlab;

}  // namespace

FiberPool::~FiberPool() {
  fibers_.clear();
  for (char* slab : slabs_) munmap(slab, kSlabBytes);
}

Fiber& FiberPool::take() {
  if (idle_.empty()) add_slab();
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void FiberPool::add_slab() {
  void* slab =
      mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (slab == MAP_FAILED) throw std::bad_alloc();
  slabs_.push_back(static_cast<char*>(slab));
  for (std::size_t i = kStacksPerSlab; i-- > 0;) {
    fibers_.push_back(std::make_unique<Fiber>(slabs_.back() + i * kPitch, kStackBytes, entry_));
    idle_.push_back(fibers_.back().get());
  }
}

}  // namespace emulated_cuda
