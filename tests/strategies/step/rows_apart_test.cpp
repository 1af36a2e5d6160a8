#include "troupe/strategies/step/rows_apart.hpp"

#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/library/transpose.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/ops/support.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

const std::vector<std::int64_t> kRows{0};

/// The error of expect_rows_apart() for a graph; `add` adds it to the builder from x, float32 [B, 2].
std::string refusal(const std::function<void(Value x)>& add) {
  GraphBuilder builder;
  add(builder.input("x", {kBatch, 2}));
  const auto graph = std::move(builder).build();
  return ops_test::error_of([&] { expect_rows_apart(graph); });
}

/// The scores of all pairs of a row and one of the first four rows, float32 [B, 4].
Value scores_of_pairs(const Inputs& in) {
  const auto w = in.builder().parameter("w", {2, 2}, Initializer::constant(0.5));
  const auto embedded = matmul(in["x"], w);
  return matmul(embedded, transpose(slice_rows(embedded, 0, 4, in.builder().batch_info()), {1, 0}));
}

std::string refusal_of_fit(const Strategy& strategy, bool evaluates = false) {
  Tensor x({4, 2}, DType::float32), labels({4}, DType::int32);
  for (std::int64_t i = 0; i < 4; ++i) labels.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  const auto data = Dataset::from_arrays({{"x", x}, {"label", labels}}).batch(4);
  return ops_test::error_of([&] {
    auto runtime = scheduled_runtime(3, 2);
    Trainer trainer(runtime, strategy, scores_of_pairs, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
    evaluates ? (void)trainer.evaluate(data) : (void)trainer.fit(data, {.epochs = 1});
  });
}

}  // namespace

TEST_CASE("a result for rows must not depend on the rows of one replica", "[strategies][errors]") {
  const auto reads_slice = refusal([](Value x) {
    x.builder().output("y", matmul(x, transpose(slice_rows(x, 0, 2, x.builder().batch_info()), {1, 0})));
  });
  CHECK(
      reads_slice ==
      "[strategy] 'matmul' depends on 'slice_rows', which one replica computes from its own rows of the batch; a loss "
      "over pairs of rows of the batch needs all rows: use one replica, or collect the value by all_reduce");
  const auto reads_sum = refusal([](Value x) { x.builder().output("y", sub(x, reduce_sum(x, kRows) * 0.25)); });
  CHECK(ops_test::contains(reads_sum, "depends on 'reduce_sum'"));
  const auto reads_covariance = refusal([](Value x) { x.builder().output("y", matmul(x, outer_sum(x, x))); });
  CHECK(ops_test::contains(reads_covariance, "depends on 'outer_sum'"));
}

TEST_CASE("the next value of a buffer must not depend on the rows of one replica", "[strategies][errors]") {
  const auto next = [](bool collected) {
    return [collected](Value x) {
      const auto buffer = x.builder().buffer("sum", {2}, Initializer::zeros());
      const auto sum = reduce_sum(x, kRows);
      x.builder().next_value(buffer, collected ? all_reduce(sum) : sum);
    };
  };
  CHECK(ops_test::contains(refusal(next(false)), "the output 'next/sum' depends on 'reduce_sum'"));
  CHECK(refusal(next(true)).empty());
}

TEST_CASE("sums over the batch may be outputs, and values of all replicas may be used", "[strategies]") {
  CHECK(refusal([](Value x) { x.builder().output("y", reduce_sum(x, kRows) * 2.0); }).empty());
  CHECK(refusal([](Value x) { x.builder().output("y", sub(x, all_reduce(reduce_sum(x, kRows)))); }).empty());
}

TEST_CASE("a loss over pairs of rows runs on one replica and is refused on several", "[strategies][errors]") {
  const std::vector<Place> on_host{{0, {DeviceType::cpu, 0}}};
  CHECK(refusal_of_fit(OneDevice()).empty());
  CHECK(refusal_of_fit(Mirrored(cpu_devices(1))).empty());
  CHECK(ops_test::contains(refusal_of_fit(Mirrored(cpu_devices(2))), "a loss over pairs of rows"));
  CHECK(ops_test::contains(refusal_of_fit(Mirrored(cpu_devices(2)), true), "a loss over pairs of rows"));
  CHECK(ops_test::contains(refusal_of_fit(LocalSgd(places_of(cpu_devices(2)), on_host)), "a loss over pairs of rows"));
  const ParameterServer servers(places_of(cpu_devices(2)), on_host, ConsistencyRule::synchronous(2));
  CHECK(ops_test::contains(refusal_of_fit(servers), "a loss over pairs of rows"));
}
