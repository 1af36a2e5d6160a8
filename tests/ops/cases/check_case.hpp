#pragma once

#include "troupe/tests/ops/cases/case_runner.hpp"

namespace troupe::ops_test {

inline bool has_gradient(const OpCase& op_case) {
  return op_case.reference.backward != nullptr;
}

/// Checks that a case on a device computes what its reference does, writes every element of its results, and does so to
/// the same bits again. With a 16-bit `compute` dtype the op gets its float32 inputs rounded to that.
void check_forward(const OpCase& op_case, std::int64_t rows, Device device = {}, DType compute = DType::float32);
/// The same for the gradients of the inputs that get one.
void check_gradient(const OpCase& op_case, std::int64_t rows, Device device = {}, DType compute = DType::float32);

}  // namespace troupe::ops_test
