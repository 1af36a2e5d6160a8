#pragma once

#include "troupe/tests/ops/cases/case_runner.hpp"

namespace troupe::ops_test {

inline bool has_gradient(const OpCase& op_case) {
  return op_case.reference.backward != nullptr;
}

/// Checks that a case on a device computes what its reference does, writes every element of its results, and does so to
/// the same bits again.
void check_forward(const OpCase& op_case, std::int64_t rows, Device device = {});
/// The same for the gradients of the inputs that get one.
void check_gradient(const OpCase& op_case, std::int64_t rows, Device device = {});

}  // namespace troupe::ops_test
