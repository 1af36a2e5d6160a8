#pragma once

#include "troupe/tests/ops/cases/case_runner.hpp"

namespace troupe::ops_test {

inline bool has_gradient(const OpCase& op_case) {
  return op_case.reference.backward != nullptr;
}

/// Checks that the results of a case on a device agree with its reference, that every element is written, and that a
/// second run gives the same bits. Float32 inputs are rounded to a 16-bit `compute` dtype.
void check_forward(const OpCase& op_case, std::int64_t rows, Device device = {}, DType compute = DType::float32);
/// Checks the gradients of all differentiable inputs in the same way as check_forward the results.
void check_gradient(const OpCase& op_case, std::int64_t rows, Device device = {}, DType compute = DType::float32);

}  // namespace troupe::ops_test
