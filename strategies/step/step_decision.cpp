#include "troupe/strategies/step/step_decision.hpp"

#include <limits>
#include <vector>

#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/math.hpp"

namespace troupe {

double bound_of_magnitude(const Optimizer& optimizer, double weights) {
  // The sum of many magnitudes, each at most its share of kLargestSum, is above kLargestSum by rounding alone.
  constexpr double kRoomForRounding = 0.99;
  const auto batches = optimizer.accumulated_steps();
  const auto accumulated = batches > 1 ? static_cast<double>(batches) * kLargestAccumulatedRows : 1.0;
  return kLargestSum / weights / accumulated * kRoomForRounding;
}

Value check_of_weights(std::span<const Value> sums, const Optimizer& optimizer) {
  const double largest = optimizer.accumulated_steps() > 1 ? kLargestAccumulatedRows : kLargestSum;
  // 1 if the weights are small enough, else 1 / sqrt(0), which is infinite.
  return rsqrt(at_most(largest_magnitude(sums), largest)) - 1.0;
}

Value magnitude_of(Value loss_check, std::span<const Value> gradients, double bound) {
  GraphBuilder::Scope scope(loss_check.builder(), "magnitude");
  std::vector<Value> values{loss_check};
  values.insert(values.end(), gradients.begin(), gradients.end());
  return largest_magnitude(values, bound);
}

Value magnitude_of_sums(Value loss_check, std::span<const Value> sums, Value weight, double bound) {
  GraphBuilder::Scope scope(loss_check.builder(), "magnitude");
  // The quotient needs the magnitude itself. With a bound, the op may give a larger number.
  const auto of_sums = magnitude_of(loss_check, sums, std::numeric_limits<double>::infinity());
  const auto divisor = clip(weight, std::numeric_limits<float>::min(), std::numeric_limits<float>::max());
  // 0 if the weight is at least 0, else 1 / sqrt(0), which is infinite, so that the step is left out.
  const auto check_of_sign = rsqrt(at_least(weight, 0.0)) - 1.0;
  return largest_magnitude(std::vector{of_sums, weight, div(of_sums, divisor), check_of_sign}, bound);
}

Value divisor_of(Value sum_of_weights) {
  auto& builder = sum_of_weights.builder();
  const auto zero = builder.constant(Tensor::scalar(0.0F)), one = builder.constant(Tensor::scalar(1.0F));
  return where(equal(sum_of_weights, zero), one, sum_of_weights);
}

Value step_is_finite(Value sum) {
  GraphBuilder::Scope scope(sum.builder(), "step_is_finite");
  return at_most(sum, kLargestSum);
}

Value is_skipped(Value apply_if) {
  return at_most(apply_if, 0.5);
}

}  // namespace troupe
