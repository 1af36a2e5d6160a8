#include "troupe/tests/ops/cases/op_cases.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::ops_test {

DType CaseInput::dtype() const {
  if (draw == Draw::labels) return DType::int32;
  return draw == Draw::batch_info ? DType::int64 : DType::float32;
}

std::vector<std::int64_t> OpCase::rows() const {
  const auto has_batch = [](const CaseInput& input) { return input.shape.has_batch(); };
  if (std::none_of(inputs.begin(), inputs.end(), has_batch)) return {1};
  return {0, 1, 2, 7, 33};
}

const std::vector<OpCase>& op_cases() {
  static const auto all = [] {
    std::vector<OpCase> cases;
    for (const auto part : {elementwise_cases, finite_cases, view_cases, reduce_cases, matmul_cases, conv_cases,
                            pool_cases, softmax_cases, update_cases}) {
      auto more = part();
      std::move(more.begin(), more.end(), std::back_inserter(cases));
    }
    return cases;
  }();
  return all;
}

}  // namespace troupe::ops_test
