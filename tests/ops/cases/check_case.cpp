#include "troupe/tests/ops/cases/check_case.hpp"

#include <algorithm>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

// The values between the result and its gradients are rounded several times.
constexpr double kGradientTolerance = 1e-5;
constexpr double kGradientRoundings = 8.0;

/// The tolerance of a case: `float32_tolerance` or, in 16 bits, at least the error of `roundings` roundings.
double tolerance_of(DType compute, double float32_tolerance, double roundings) {
  if (!is_16_bit(compute)) return float32_tolerance;
  return std::max(float32_tolerance, roundings * (compute == DType::bfloat16 ? 0x1p-9 : 0x1p-12));
}

void check_close(const Arrays& actual, const Arrays& expected, double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("result " << i << " of sizes " << to_string(Shape(actual[i].sizes)));
    CHECK(actual[i].sizes == expected[i].sizes);
    CHECK(distance(actual[i], expected[i]) <= tolerance);
  }
}

/// The gradients of the differentiable inputs, from the reference.
Arrays expected_gradients(const OpCase& op_case, const Arrays& inputs, const Array& dy) {
  const auto all = op_case.reference.backward(inputs, dy);
  Arrays expected;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (op_case.inputs[i].differentiable) expected.push_back(all[i]);
  return expected;
}

}  // namespace

void check_forward(const OpCase& op_case, std::int64_t rows, Device device, DType compute) {
  const auto inputs = draw_inputs(op_case, rows, compute);
  const auto result = run_case(case_graph(op_case, compute), "y", inputs, {}, rows, device);
  check_close(result.outputs(), op_case.reference.forward(inputs),
              tolerance_of(compute, op_case.tolerance, op_case.roundings));
  CHECK(result.repeats);
}

void check_gradient(const OpCase& op_case, std::int64_t rows, Device device, DType compute) {
  const auto inputs = draw_inputs(op_case, rows, compute);
  const auto dy = draw_weights(op_case.reference.forward(inputs)[0].sizes, compute);
  const auto result = run_case(case_gradient_graph(op_case, compute), "dx", inputs, dy, rows, device);
  check_close(result.outputs(), expected_gradients(op_case, inputs, dy),
              tolerance_of(compute, kGradientTolerance, op_case.roundings + kGradientRoundings));
  CHECK(result.repeats);
}

}  // namespace troupe::ops_test
