#pragma once

#include "troupe/ops/core/matmul_precision.hpp"

namespace troupe::testing {

/// While it lives, plans and kernels that are made compute so; then in float32.
class WithPrecision {
 public:
  explicit WithPrecision(MatmulPrecision precision) { set_matmul_precision(precision); }
  ~WithPrecision() { set_matmul_precision(MatmulPrecision::float32); }
  WithPrecision(const WithPrecision&) = delete;
  WithPrecision& operator=(const WithPrecision&) = delete;
};

}  // namespace troupe::testing
