#pragma once

#include "troupe/ops/cuda/cudnn/convolution.hpp"
#include "troupe/ops/cuda/device/divide.cuh"

namespace troupe::cuda {

/// Splits the index of an element of an array with three inner axes into its four coordinates.
struct Split {
  Divisor outer, middle, inner;

  Split(std::int64_t outer_size, std::int64_t middle_size, std::int64_t inner_size, std::int64_t bound)
      : outer(outer_size, bound), middle(middle_size, bound), inner(inner_size, bound) {}

  /// Splits i = ((a * outer + b) * middle + c) * inner + d.
  __device__ void operator()(std::int64_t i, std::int64_t& a, std::int64_t& b, std::int64_t& c, std::int64_t& d) const {
    const auto i1 = inner.quotient(i), i2 = middle.quotient(i1);
    d = i - i1 * inner.divisor();
    c = i1 - i2 * middle.divisor();
    a = outer.quotient(i2);
    b = i2 - a * outer.divisor();
  }
};

}  // namespace troupe::cuda
