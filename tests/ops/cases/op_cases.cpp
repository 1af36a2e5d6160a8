#include "troupe/tests/ops/cases/op_cases.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::ops_test {

std::vector<std::int64_t> OpCase::rows() const {
  const auto has_batch = [](const CaseInput& input) { return input.shape.has_batch(); };
  if (std::none_of(inputs.begin(), inputs.end(), has_batch)) return {1};
  return {0, 1, 2, 7, 33};
}

std::vector<std::int64_t> OpCase::gradient_rows() const {
  constexpr std::int64_t kMaxRows = 7;
  auto numbers = rows();
  if (reference.backward == nullptr) numbers.clear();
  if (by_differences) std::erase_if(numbers, [](std::int64_t number) { return number > kMaxRows; });
  return numbers;
}

namespace {

/// The gradient of the sum of y * dy with respect to input i, by central differences.
Array difference(const std::function<Arrays(const Arrays&)>& forward, Arrays inputs, std::size_t i, const Array& dy) {
  constexpr double kStep = 1e-4;
  const auto loss_at = [&](std::size_t at, double shift) {
    inputs[i].data[at] += shift;
    const auto y = forward(inputs)[0];
    inputs[i].data[at] -= shift;
    double loss = 0.0;
    for (std::size_t j = 0; j < y.data.size(); ++j) loss += y.data[j] * dy.data[j];
    return loss;
  };
  Array dx(inputs[i].sizes);
  for (std::size_t at = 0; at < dx.data.size(); ++at)
    dx.data[at] = (loss_at(at, kStep) - loss_at(at, -kStep)) / (2.0 * kStep);
  return dx;
}

}  // namespace

OpCase forward_case(std::string name, std::vector<CaseInput> inputs, std::function<Values(const Values&)> build,
                    std::function<Arrays(const Arrays&)> forward) {
  const auto backward = [inputs, forward](const Arrays& in, const Array& dy) {
    Arrays gradients(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      if (inputs[i].differentiable) gradients[i] = difference(forward, in, i, dy);
    return gradients;
  };
  OpCase result{std::move(name), std::move(inputs), std::move(build), {std::move(forward), backward}};
  result.by_differences = true;
  return result;
}

OpCase exact_case(std::string name, std::vector<CaseInput> inputs, std::function<Values(const Values&)> build,
                  std::function<Arrays(const Arrays&)> forward) {
  for (auto& input : inputs) input.differentiable = false;
  return {std::move(name), std::move(inputs), std::move(build), {std::move(forward), nullptr}, 0.0};
}

const std::vector<OpCase>& op_cases() {
  static const auto all = [] {
    std::vector<OpCase> cases;
    for (const auto part : {elementwise_cases, math_cases, compare_cases, moving_cases, indexing_cases, norm_cases,
                            sequence_cases, finite_cases, view_cases, reduce_cases, matmul_cases, gelu_cases,
                            conv_cases, pool_cases, softmax_cases, update_cases, merged_update_cases, fused_cases}) {
      auto more = part();
      std::move(more.begin(), more.end(), std::back_inserter(cases));
    }
    return cases;
  }();
  return all;
}

}  // namespace troupe::ops_test
