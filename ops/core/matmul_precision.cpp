#include "troupe/ops/core/matmul_precision.hpp"

#include <atomic>

namespace troupe {

namespace {

std::atomic<MatmulPrecision> current{MatmulPrecision::float32};

}  // namespace

void set_matmul_precision(MatmulPrecision precision) {
  current = precision;
}

MatmulPrecision matmul_precision() {
  return current;
}

}  // namespace troupe
