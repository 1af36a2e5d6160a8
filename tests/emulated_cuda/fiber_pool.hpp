#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "troupe/tests/emulated_cuda/fiber.hpp"

namespace emulated_cuda {

/// Unused fibers. Their stacks are pages that take no memory until they are touched.
class FiberPool {
 public:
  explicit FiberPool(void (*entry)()) : entry_(entry) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  Fiber& take();
  void give_back(Fiber& fiber) { idle_.push_back(&fiber); }

 private:
  void add_slab();

  void (*entry_)();
  std::vector<char*> slabs_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
};

}  // namespace emulated_cuda
