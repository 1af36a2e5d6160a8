#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Hashes of arrays in host memory. Each array is hashed once. Thread-safe.
class ArrayHashes {
 public:
  /// Returns a hash of the elements of a contiguous array. Keeps a handle of the array, whose elements must not change
  /// any more.
  std::string of(const Tensor& array);

 private:
  std::mutex mutex_;
  std::vector<std::pair<Tensor, std::string>> hashes_;
};

}  // namespace troupe
