#include "troupe/ops/library/batch_norm.hpp"

#include <algorithm>
#include <cmath>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"

namespace troupe::ops_test {

namespace {

struct Normalized {
  double variance;            ///< of the whole input, by the op
  double mean_square_output;  ///< with scale 1 and shift 0
};

/// Normalizes a batch [rows, 1] on a device.
Normalized normalized(Device device, const std::vector<float>& x) {
  const auto rows = static_cast<std::int64_t>(x.size());
  GraphBuilder builder;
  const auto input = builder.input("x", {kBatch, 1});
  const auto moments = batch_moments(reshape(replica_moments(input), {1, 3, 1}));
  const auto one = builder.constant(Tensor::from<float>({1}, {1.0F}).to(device));
  const auto zero = builder.constant(Tensor::from<float>({1}, {0.0F}).to(device));
  builder.output("y", batch_norm(input, moments, one, zero, {.epsilon = 0.0}));
  builder.output("variance", moments.variance);
  Program program(std::move(builder).build(), rows, device);
  program.bind("x", Tensor::from<float>({rows, 1}, x).to(device));
  program.run();
  double squares = 0.0;
  const auto y = program.output("y").copy_to_host();
  for (const auto element : y.data<float>()) squares += static_cast<double>(element) * element;
  return {program.output("variance").copy_to_host().data<float>()[0], squares / static_cast<double>(rows)};
}

double variance_of(const std::vector<float>& x) {
  double mean = 0.0, squares = 0.0;
  for (const auto element : x) mean += element / static_cast<double>(x.size());
  for (const auto element : x) squares += (element - mean) * (element - mean);
  return squares / static_cast<double>(x.size());
}

/// Numbers of deviation 1 around `center`.
std::vector<float> numbers_around(float center, std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = center + std::sqrt(12.0F) * (uniform(3, 0, i) - 0.5F);
  return x;
}

void check_moments(Device device, const std::vector<float>& x) {
  const auto result = normalized(device, x);
  CHECK(result.variance == Approx(variance_of(x)).epsilon(1e-4));
  CHECK(result.mean_square_output == Approx(1.0).epsilon(1e-3));
}

void check_large_means(Device device) {
  check_moments(device, numbers_around(10'000.0F, 128));
  check_moments(device, numbers_around(-30'000.0F, 5'000));
  check_moments(device, numbers_around(10'000.0F, 2));
  // The first rows are far from the others, so that they are no good center.
  auto two_groups = numbers_around(10'000.0F, 3'000);
  for (std::size_t i = 0; i < 16; ++i) two_groups[i] = -10'000.0F;
  check_moments(device, two_groups);
  // The first row alone.
  auto outlier = numbers_around(0.0F, 20'000);
  outlier[0] = 10'000.0F;
  check_moments(device, outlier);
}

/// The gradients of x, scale, shift and, if there is one, the residual of a relu after a batch norm, if both are one op
/// or two.
std::vector<Tensor> gradients_behind_relu(Device device, std::int64_t channels, bool residual, bool fused) {
  constexpr std::int64_t kRows = 9;
  GraphBuilder forward;
  const auto x = forward.input("x", {kBatch, 3, channels});
  const auto scale = forward.input("scale", {channels}), shift = forward.input("shift", {channels});
  const auto moments = batch_moments(reshape(replica_moments(x), {1, 3, channels}));
  auto y = batch_norm(x, moments, scale, shift, {.all_reduced = false});
  if (residual) y = add(y, forward.input("residual", x.shape()));
  forward.output("y", relu(y));
  const auto graph = std::move(forward).build();
  GraphBuilder builder(fused ? fuse_batch_norm(graph) : graph);
  const auto result = builder.value(builder.graph().output("y"));
  std::vector<Value> inputs;
  for (const auto id : builder.graph().sources(kInput)) inputs.push_back(builder.value(id));
  const auto loss = reduce_sum(mul(result, builder.input("dy", result.shape())), {0, 1, 2});
  const auto found = gradients(loss, inputs);
  for (std::size_t i = 0; i < found.size(); ++i) builder.output("d" + std::to_string(i), found[i]);
  Program program(std::move(builder).build(), kRows, device);
  for (const std::string name : {"x", "scale", "shift", "residual", "dy"}) {
    if (name == "residual" && !residual) continue;
    const bool of_channels = name == "scale" || name == "shift";
    std::vector<float> numbers(static_cast<std::size_t>(of_channels ? channels : kRows * 3 * channels));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = uniform(name.size(), 1, i) - 0.5F;
    const auto shape = of_channels ? Shape{channels} : Shape{kRows, 3, channels};
    program.bind(name, Tensor::from<float>(shape, numbers).to(device));
  }
  program.run();
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < found.size(); ++i)
    results.push_back(program.output("d" + std::to_string(i)).to(Device{}));
  return results;
}

}  // namespace

TEST_CASE("the gradients of a relu and a batch norm in one op have the bits of those of two ops", "[ops]") {
  for (const std::int64_t channels : {5, 16, 64, 70})
    for (const bool residual : {false, true}) {
      INFO(channels << " channels, residual: " << residual);
      const auto fused = gradients_behind_relu(Device{}, channels, residual, true);
      const auto single = gradients_behind_relu(Device{}, channels, residual, false);
      REQUIRE(fused.size() == (residual ? 4U : 3U));
      CHECK(std::ranges::equal(fused, single, same_bits));
    }
}

TEST_CASE("batch norm of a mean that is large compared with the deviation is exact", "[ops]") {
  check_large_means(Device{});
}

TEST_CASE("batch norm of a mean that is large compared with the deviation is exact on a GPU", "[.gpu]") {
  if (const auto device = testing::gpu()) check_large_means(*device);
}

TEST_CASE("the moments of replicas are combined without loss of digits, and empty replicas do not count", "[ops]") {
  // Counts, means and sums of squares of three replicas: {9,999, 10,001}, nothing, and {10,003}.
  GraphBuilder builder;
  const auto moments = batch_moments(builder.input("x", {3, 3, 1}));
  builder.output("mean", moments.mean);
  builder.output("variance", moments.variance);
  builder.output("count", moments.count);
  Program program(std::move(builder).build(), 1);
  program.bind("x", Tensor::from<float>({3, 3, 1}, {2, 10'000, 2, 0, 0, 0, 1, 10'003, 0}));
  program.run();
  CHECK(program.output("mean").data<float>()[0] == 10'001.0F);
  CHECK(program.output("variance").data<float>()[0] == Approx(8.0 / 3.0));
  CHECK(program.output("count").data<float>()[0] == 3.0F);
}

}  // namespace troupe::ops_test
