#include "troupe/tests/ops/cases/check_case.hpp"

#include <algorithm>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

// What lies in between was rounded to float32 several times.
constexpr double kGradientTolerance = 1e-5;
constexpr double kGradientRoundings = 8.0;

/// The tolerance of float32, or that of so many roundings to 16 bits.
double tolerance_of(DType compute, double of_float32, double roundings) {
  if (!is_16_bit(compute)) return of_float32;
  return std::max(of_float32, roundings * (compute == DType::bfloat16 ? 0x1p-9 : 0x1p-12));
}

void check_close(const Arrays& got, const Arrays& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    INFO("result " << i << " of sizes " << to_string(Shape(got[i].sizes)));
    CHECK(got[i].sizes == want[i].sizes);
    CHECK(distance(got[i], want[i]) <= tolerance);
  }
}

/// The gradients of the inputs that get one.
Arrays wanted_gradients(const OpCase& op_case, const Arrays& inputs, const Array& dy) {
  const auto all = op_case.reference.backward(inputs, dy);
  Arrays wanted;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (op_case.inputs[i].differentiable) wanted.push_back(all[i]);
  return wanted;
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
  check_close(result.outputs(), wanted_gradients(op_case, inputs, dy),
              tolerance_of(compute, kGradientTolerance, op_case.roundings + kGradientRoundings));
  CHECK(result.repeats);
}

}  // namespace troupe::ops_test
