// Losses that divide by weights: on any number of replicas and for any batch size, the mean divides by the weights of
// all rows.

#include <cmath>

#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/ops/support.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int32_t kIgnored = -100;
constexpr std::int64_t kRows = 10, kClasses = 3;

/// The labels that count and their weights lie unevenly among the rows.
const std::vector<std::int32_t> kLabels{0, kIgnored, 1, kIgnored, kIgnored, kIgnored, 2, 1, kIgnored, 0};
const std::vector<float> kRowWeights{0.5F, 3.0F, 2.0F, 1.0F, 0.0F, 1.0F, 4.0F, 0.25F, 1.0F, 1.0F};
const std::vector<float> kClassWeights{1.0F, 5.0F, 0.5F};

Dataset weighted_data(std::int64_t batch) {
  Tensor x({kRows, kClasses}, DType::float32);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    x.mutable_data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 7) / 4.0F;
  return Dataset::from_arrays({{"x", x},
                               {"weight", Tensor::from<float>({kRows}, kRowWeights)},
                               {"label", Tensor::from<std::int32_t>({kRows}, kLabels)}})
      .batch(batch);
}

/// The logits are x + w.
Value shifted_logits(const Inputs& in) {
  const auto w = in.builder().parameter("w", {kClasses}, Initializer::zeros());
  return add(in["x"], w);
}

/// The weights of the rows in a loss, 0 for ignored labels, and the number by which the mean divides.
struct Weights {
  std::vector<double> of_rows;
  double divisor = 0.0;
};

Weights weights_with(bool by_class, bool by_row) {
  Weights weights;
  for (std::size_t row = 0; row < kLabels.size(); ++row) {
    double weight = kLabels[row] == kIgnored ? 0.0 : 1.0;
    if (by_class && weight > 0.0) weight *= kClassWeights[static_cast<std::size_t>(kLabels[row])];
    if (by_row) weight *= kRowWeights[row];
    weights.of_rows.push_back(weight);
    weights.divisor += weight;
  }
  return weights;
}

/// The loss of all rows with w = 0, and w after a step of a learning rate of 1.
struct Step {
  double loss = 0.0;
  std::vector<double> w = std::vector<double>(kClasses);
};

Step expected_step(const Weights& weights) {
  Step step;
  const auto x = weighted_data(kRows).array("x");
  for (std::size_t row = 0; row < kLabels.size(); ++row) {
    const auto weight = weights.of_rows[row] / weights.divisor;
    if (weight == 0.0) continue;
    const auto* logits = x.data<float>().data() + row * kClasses;
    double sum = 0.0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += std::exp(logits[c]);
    const auto label = static_cast<std::size_t>(kLabels[row]);
    step.loss -= weight * std::log(std::exp(logits[label]) / sum);
    for (std::size_t c = 0; c < kClasses; ++c)
      step.w[c] -= weight * (std::exp(logits[c]) / sum - (c == label ? 1.0 : 0.0));
  }
  return step;
}

Trainer weighted_trainer(Runtime& runtime, const Strategy& strategy, const Loss& loss, double rate = 1.0) {
  return Trainer(runtime, strategy, shifted_logits, Sgd{.lr = rate}, loss);
}

/// Makes one step on all rows, and compares loss and parameters.
void check_step(const Strategy& strategy, const Loss& loss, const Step& expected) {
  auto runtime = scheduled_runtime(3, 4);
  auto trainer = weighted_trainer(runtime, strategy, loss);
  const auto result = trainer.fit(weighted_data(kRows), {.epochs = 1});
  CHECK(result.epochs.back().training.loss == Approx(expected.loss));
  const auto w = trainer.parameters().get("w");
  for (std::size_t c = 0; c < kClasses; ++c) CHECK(w.data<float>()[c] == Approx(expected.w[c]).margin(1e-6));
}

void check_on_replicas(const Loss& loss, const Step& expected) {
  check_step(OneDevice(), loss, expected);
  for (const int replicas : {2, 3, 4}) {
    INFO(replicas << " replicas");
    check_step(Mirrored(cpu_devices(replicas)), loss, expected);
  }
}

const SoftmaxCrossEntropy kWithIgnored{.labels = "label", .ignored = kIgnored};
const SoftmaxCrossEntropy kWithClassWeights{.labels = "label", .ignored = kIgnored, .class_weights = kClassWeights};

}  // namespace

TEST_CASE("a mean over labels divides by the labels of all replicas that are not ignored", "[loss]") {
  check_on_replicas(kWithIgnored, expected_step(weights_with(false, false)));
  check_on_replicas(kWithClassWeights, expected_step(weights_with(true, false)));
}

TEST_CASE("a loss weighted by row divides by the weights of all replicas", "[loss]") {
  check_on_replicas(WeightedByRow{kWithIgnored, "weight"}, expected_step(weights_with(false, true)));
  check_on_replicas(WeightedByRow{kWithClassWeights, "weight"}, expected_step(weights_with(true, true)));
}

TEST_CASE("the means of a sum of losses divide by weights of their own", "[loss]") {
  const auto first = expected_step(weights_with(false, false)), second = expected_step(weights_with(true, true));
  Step sum{first.loss + 2.0 * second.loss};
  for (std::size_t c = 0; c < kClasses; ++c) sum.w[c] = first.w[c] + 2.0 * second.w[c];
  check_on_replicas(SumOfLosses{{{1.0, kWithIgnored}, {2.0, WeightedByRow{kWithClassWeights, "weight"}}}}, sum);
}

TEST_CASE("a mean over rows divides by the rows, by choice", "[loss]") {
  auto weights = weights_with(false, false);
  weights.divisor = static_cast<double>(kRows);
  auto by_rows = kWithIgnored;
  by_rows.mean = MeanOver::rows;
  check_on_replicas(by_rows, expected_step(weights));
  auto row_weights = weights_with(false, true);
  row_weights.divisor = static_cast<double>(kRows);
  check_on_replicas(WeightedByRow{by_rows, "weight", MeanOver::rows}, expected_step(row_weights));
}

TEST_CASE("a batch without a label that counts has the loss 0 and changes nothing", "[loss]") {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = weighted_trainer(runtime, strategy, kWithIgnored);
  auto ignored = Tensor({kRows}, DType::int32);
  std::ranges::fill(ignored.mutable_data<std::int32_t>(), kIgnored);
  const auto data = Dataset::from_arrays({{"x", weighted_data(kRows).array("x")}, {"label", ignored}}).batch(4);
  CHECK(trainer.fit(data, {.epochs = 1}).epochs.back().training.loss == 0.0);
  const auto w = trainer.parameters().get("w");
  for (const auto element : w.data<float>()) CHECK(element == 0.0F);
}

TEST_CASE("evaluation and epochs divide by the weights of all batches", "[loss]") {
  const auto expected = expected_step(weights_with(true, true)).loss;
  for (const int replicas : {1, 2, 3}) {
    auto runtime = scheduled_runtime(4, 3);
    const Mirrored strategy(cpu_devices(replicas));
    auto trainer = weighted_trainer(runtime, strategy, WeightedByRow{kWithClassWeights, "weight"}, 0.0);
    for (const std::int64_t batch : {1, 3, 10}) {
      INFO(replicas << " replicas, batch " << batch);
      CHECK(trainer.evaluate(weighted_data(batch)).loss == Approx(expected));
      CHECK(trainer.fit(weighted_data(batch), {.epochs = 1}).epochs.back().training.loss == Approx(expected));
    }
  }
}

TEST_CASE("an update of several batches divides by the weights of all of them", "[loss]") {
  const auto loss = WeightedByRow{kWithClassWeights, "weight"};
  const auto expected = expected_step(weights_with(true, true));
  for (const int replicas : {1, 2, 3}) {
    for (const std::int64_t batch : {1, 3, 4}) {
      CAPTURE(replicas, batch);
      auto runtime = scheduled_runtime(7, 3);
      const Mirrored strategy(cpu_devices(replicas));
      const auto optimizer = Optimizer(Sgd{.lr = 1.0}).accumulating((kRows + batch - 1) / batch);
      Trainer trainer(runtime, strategy, shifted_logits, optimizer, loss);
      trainer.fit(weighted_data(batch), {.epochs = 1});
      const auto w = trainer.parameters().get("w");
      for (std::size_t c = 0; c < kClasses; ++c) CHECK(w.data<float>()[c] == Approx(expected.w[c]).margin(1e-6));
    }
  }
}

TEST_CASE("synchronous servers divide by the weights of all workers, workers of local SGD by their own", "[loss]") {
  const auto expected = expected_step(weights_with(true, true));
  const auto loss = WeightedByRow{kWithClassWeights, "weight"};
  for (const int workers : {1, 2, 3})
    for (const int servers : {1, 2}) {
      CAPTURE(workers, servers);
      const auto places = places_of(cpu_devices(workers));
      const std::vector<Place> on_host(static_cast<std::size_t>(servers));
      check_step(ParameterServer(places, on_host, ConsistencyRule::synchronous(workers)), loss, expected);
    }
  // Worker 0 has two rows, worker 1 one row: the copies are weighted by rows.
  auto runtime = scheduled_runtime(3, 4);
  const LocalSgd strategy(places_of(cpu_devices(2)), {Place{}}, {.local_steps = 1});
  const auto times_w = [](const Inputs& in) -> Outputs {
    return mul(in["g"], in.builder().parameter("w", {1}, Initializer::zeros()));
  };
  const auto of_row = [](const Outputs& outputs, const Inputs&) { return reshape(outputs[""], {kBatch}); };
  const auto data = Dataset::from_arrays({{"g", Tensor::from<float>({3, 1}, std::vector<float>{1.0F, 3.0F, 2.0F})},
                                          {"weight", Tensor::from<float>({3}, std::vector<float>{1.0F, 3.0F, 4.0F})}});
  Trainer trainer(runtime, strategy, times_w, Sgd{.lr = 1.0}, WeightedByRow{of_row, "weight"});
  trainer.fit(data.batch(3), {.epochs = 1});
  const auto of_worker_0 = (1.0 * 1.0 + 3.0 * 3.0) / 4.0, of_worker_1 = 2.0;
  CHECK(trainer.parameters().get("w").item<float>() == Approx(-(2.0 * of_worker_0 + of_worker_1) / 3.0));
}

TEST_CASE("a mean divides by a negative sum of weights, in batches of their own and accumulated", "[loss]") {
  const auto times_w = [](const Inputs& in) -> Outputs {
    return mul(in["g"], in.builder().parameter("w", {1}, Initializer::constant(1.0)));
  };
  const auto of_row = [](const Outputs& outputs, const Inputs&) { return reshape(outputs[""], {kBatch}); };
  const auto data_of = [](const std::vector<float>& weights) {
    return Dataset::from_arrays({{"g", Tensor::from<float>({4, 1}, std::vector<float>{1.0F, 3.0F, 1.0F, 3.0F})},
                                 {"weight", Tensor::from<float>({4}, weights)}});
  };
  const auto negative = data_of({-1.0F, -3.0F, -1.0F, -3.0F}).batch(4);
  // The sum of the weights of the first two rows is 0: their losses count by the weights, and divide by 1.
  const auto cancelling = data_of({-1.0F, 1.0F, 1.0F, 3.0F}).batch(2);
  for (const int replicas : {1, 2}) {
    auto runtime = scheduled_runtime(6, 2);
    const Mirrored strategy(cpu_devices(replicas));
    for (const int accumulated : {1, 2}) {
      CAPTURE(replicas, accumulated);
      const auto optimizer = Optimizer(Sgd{.lr = 1.0}).accumulating(accumulated);
      Trainer trainer(runtime, strategy, times_w, optimizer, WeightedByRow{of_row, "weight"});
      CHECK(trainer.evaluate(negative).loss == Approx(2.5));
      const auto result = trainer.fit(negative, {.epochs = 1});
      trainer.fit(negative, {.epochs = 1});
      CHECK(result.epochs.at(0).training.loss == Approx(2.5));
      CHECK(trainer.parameters().get("w").item<float>() == Approx(1.0 - (accumulated > 1 ? 2.5 : 5.0)));
      Trainer other(runtime, strategy, times_w, optimizer, WeightedByRow{of_row, "weight"});
      other.fit(cancelling, {.epochs = 1});
      CHECK(other.parameters().get("w").item<float>() == Approx(1.0 - (accumulated > 1 ? 12.0 / 4.0 : 2.0 + 2.5)));
    }
  }
  auto runtime = scheduled_runtime(6, 2);
  const ParameterServer servers(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::synchronous(2));
  Trainer trainer(runtime, servers, times_w, Sgd{.lr = 1.0}, WeightedByRow{of_row, "weight"});
  CHECK_THROWS_WITH(trainer.fit(negative), Contains("have the sum -4, and workers of servers divide by no negative"));
}

TEST_CASE("a mean by weights that a worker cannot divide is refused", "[loss][errors]") {
  auto runtime = scheduled_runtime(5, 2);
  const std::vector<Place> kOnHost{{0, {DeviceType::cpu, 0}}};
  const auto servers = [&](int workers, const ConsistencyRule& rule) {
    return ParameterServer(places_of(cpu_devices(workers)), kOnHost, rule);
  };
  const auto refusal = [&](const Strategy& strategy, const Optimizer& optimizer, const Loss& loss = kWithIgnored) {
    return ops_test::error_of([&] {
      Trainer trainer(runtime, strategy, shifted_logits, optimizer, loss);
      trainer.fit(weighted_data(4), {.epochs = 1});
    });
  };
  const auto accumulating = Optimizer(Sgd{}).accumulating(2);
  const SumOfLosses sum{{{1.0, kWithIgnored}, {2.0, kWithClassWeights}}};
  CHECK(
      ops_test::contains(refusal(OneDevice(), accumulating, sum),
                         "[loss] is a sum of losses that divide by different weights, but the optimizer accumulates"));
  CHECK(ops_test::contains(refusal(servers(1, ConsistencyRule::synchronous(1)), accumulating),
                           "[loss] divides by the weights of a batch, which servers do not know"));
  CHECK(refusal(servers(1, ConsistencyRule::synchronous(1)), Sgd{}).empty());
  CHECK(refusal(LocalSgd(places_of(cpu_devices(1)), kOnHost), Sgd{}).empty());
  // Each worker computes batches of its own.
  CHECK(refusal(servers(2, ConsistencyRule::asynchronous(2)), Sgd{}).empty());
}
