#include <algorithm>
#include <cmath>
#include <limits>

#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/graph/check_pass.hpp"

namespace troupe::ops_test {

namespace {

constexpr double kBound = 0x1p126;
constexpr std::int64_t kRows = 3, kColumnsOfX = 30, kColumnsOfDy = 40;

/// The gradient of a matrix, and the flag whether its largest magnitude is at most kBound.
void gradient_and_flag(GraphBuilder& b) {
  const auto dw =
      matmul(b.input("x", {kBatch, kColumnsOfX}), b.input("dy", {kBatch, kColumnsOfDy}), {.transpose_a = true});
  b.output("dw", dw);
  b.output("flag", at_most(largest_magnitude(std::vector{b.input("check", {}), dw}, kBound), kBound));
}

/// Returns the magnitude that the fused op makes for a gradient whose factors are 0 except these elements of row 0 and
/// of row 1.
float magnitude_of(float x0, float dy0, float x1, float dy1, Device device) {
  GraphBuilder builder;
  gradient_and_flag(builder);
  const auto flag = builder.graph().producer(builder.graph().output("flag"));
  builder.output("magnitude", builder.value(flag.inputs[0]));
  Program program(fuse_magnitudes(std::move(builder).build()), kRows, device);
  const Tensor x({kRows, kColumnsOfX}, DType::float32), dy({kRows, kColumnsOfDy}, DType::float32);
  x.mutable_data<float>()[0] = x0;
  x.mutable_data<float>()[kColumnsOfX + 1] = x1;
  dy.mutable_data<float>()[0] = dy0;
  dy.mutable_data<float>()[kColumnsOfDy + 1] = dy1;
  program.bind("x", x.to(device));
  program.bind("dy", dy.to(device));
  program.bind("check", Tensor::scalar(0.0F).to(device));
  program.run();
  return program.output("magnitude").to(Device{}).item<float>();
}

void check_magnitudes(Device device) {
  const auto infinity = std::numeric_limits<float>::infinity();
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto small = magnitude_of(2.0F, 3.0F, -4.0F, 5.0F, device);
  CHECK((small >= 20.0F && small <= 0x1p64F));
  // The factors alone do not tell whether the product is finite.
  CHECK(magnitude_of(1e30F, 1e-30F, 1e-30F, 1e30F, device) == 1.0F);
  CHECK(magnitude_of(1e30F, 1e5F, 1.0F, 1e10F, device) == 1e30F * 1e5F);
  CHECK(magnitude_of(1e30F, 1e30F, 1.0F, 1.0F, device) == infinity);
  CHECK(std::isnan(magnitude_of(nan, 1.0F, 1.0F, 1.0F, device)));
  CHECK(std::isnan(magnitude_of(1.0F, 1.0F, 1.0F, nan, device)));
  CHECK(std::isnan(magnitude_of(infinity, 0.0F, 0.0F, 0.0F, device)));
}

}  // namespace

TEST_CASE("the magnitude of a matrix's gradient is fused with the product", "[passes]") {
  check_pass(fuse_magnitudes, gradient_and_flag, {"product_and_magnitude", "largest_magnitude", "at_most"});
  const auto outer = [](GraphBuilder& b) {
    const auto dw = outer_sum(b.input("x", {kBatch, 2, 3}), b.input("dy", {kBatch, 2, 4}));
    b.output("flag", at_most(largest_magnitude(std::vector{dw}, kBound), kBound));
  };
  check_pass(fuse_magnitudes, outer, {"product_and_magnitude", "largest_magnitude", "at_most"});
}

TEST_CASE("the magnitudes of other values, and products without one, stay single", "[passes]") {
  const auto others = [](GraphBuilder& b) {
    const auto y = matmul(b.input("x", {kBatch, 3}), b.input("w", {3, 4}));
    const auto dw = outer_sum(b.input("a", {kBatch, 2, 3}), b.input("b", {kBatch, 2, 4}));
    b.output("dw", dw);
    b.output("y", largest_magnitude(std::vector{y, add(dw, dw)}, kBound));
  };
  check_pass(fuse_magnitudes, others, {"matmul", "outer_sum", "add", "largest_magnitude"});
}

TEST_CASE("a magnitude that is more than a decision is exact", "[passes]") {
  const auto exact = [](GraphBuilder& b) {
    const auto dw = outer_sum(b.input("a", {kBatch, 2, 30}), b.input("b", {kBatch, 2, 40}));
    b.output("all", largest_magnitude(std::vector{dw}));
    b.output("bounded", largest_magnitude(std::vector{dw}, 0.5));
  };
  check_pass([](const Graph& graph) { return optimize_for_host(graph); }, exact,
             {"outer_sum", "largest_magnitude", "largest_magnitude"});
}

TEST_CASE("the fused magnitude is finite if the product is", "[passes]") {
  check_magnitudes(Device{});
}

TEST_CASE("the fused magnitude on a GPU is finite if the product is", "[.gpu]") {
  if (const auto device = testing::gpu()) check_magnitudes(*device);
}

}  // namespace troupe::ops_test
