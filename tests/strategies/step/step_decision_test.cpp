// A step whose gradients are finite is left out if a number on the way to the update is not.

#include "troupe/strategies/step/step_decision.hpp"

#include <cmath>

#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/strategies/central_storage.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kRowsOfBatch = 64;

struct DecidingStrategy {
  std::string name;
  std::shared_ptr<const Strategy> strategy;
};

std::vector<DecidingStrategy> deciding_strategies() {
  const auto places = places_of(cpu_devices(2));
  const auto hook = std::make_shared<Mirrored>(places, MirroredOptions{.hook = gradient_hook_of("none")});
  return {{"one device", std::make_shared<OneDevice>()},
          {"mirrored", std::make_shared<Mirrored>(places)},
          {"hook", hook},
          {"central", std::make_shared<CentralStorage>(places, Place{})},
          {"servers", std::make_shared<ParameterServer>(places, std::vector<Place>{{0, {}}, {0, {}}},
                                                        ConsistencyRule::synchronous(2))}};
}

/// Batches of equal rows: one batch for each element of `g`, which every row of the batch has in the field g.
Dataset batches_of(const std::vector<float>& g, const std::vector<float>& weights) {
  const auto rows = static_cast<std::int64_t>(g.size()) * kRowsOfBatch;
  Tensor in_rows({rows}, DType::float32), weights_of_rows({rows}, DType::float32);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    in_rows.mutable_data<float>()[i] = g[i / kRowsOfBatch];
    weights_of_rows.mutable_data<float>()[i] = weights[i / kRowsOfBatch];
  }
  return Dataset::from_arrays({{"g", in_rows}, {"weight", weights_of_rows}}).batch(kRowsOfBatch);
}

/// The loss of a row is w g.
Outputs times_a_scalar(const Inputs& in) {
  return mul(in["g"], reshape(in.builder().parameter("w", {1}, Initializer::zeros()), {}));
}

float trained_w(const Trainer& trainer) {
  return trainer.parameters().get("w").item<float>();
}

}  // namespace

TEST_CASE("accumulated gradients whose products with their rows are infinite are left out") {
  const auto loss = [](const Outputs& outputs, const Inputs&) { return outputs[""]; };
  for (const auto& [name, strategy] : deciding_strategies()) {
    CAPTURE(name);
    auto runtime = scheduled_runtime(3, 2);
    Trainer trainer(runtime, *strategy, times_a_scalar, Optimizer(Sgd{.lr = 1.0}).accumulating(2), loss);
    // 1e37 times 64 rows is infinite. The second update is the mean of the last two gradients.
    const auto result =
        trainer.fit(batches_of({1e37F, 1.0F, 2.0F, 4.0F}, {1, 1, 1, 1}), {.on_non_finite_loss = NonFiniteLoss::skip});
    CHECK(trained_w(trainer) == -4.0F);
    CHECK(result.epochs.at(0).training.skipped_steps == 1);
  }
}

TEST_CASE("a worker whose weights have a sum below 0 is left out, also if its gradients are 0") {
  const auto data = Dataset::from_arrays({{"g", Tensor::from<float>({2}, {0.0F, 1.0F})},
                                          {"weight", Tensor::from<float>({2}, {-1.0F, 1.000001F})}})
                        .batch(2);
  const WeightedByRow loss{[](const Outputs& outputs, const Inputs&) { return outputs[""]; }, "weight"};
  const ParameterServer servers(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::synchronous(2));
  auto runtime = scheduled_runtime(7, 2);
  Trainer trainer(runtime, servers, times_a_scalar, Sgd{.lr = 1.0}, loss);
  CHECK(trainer.fit(data, {.on_non_finite_loss = NonFiniteLoss::skip}).epochs.at(0).training.skipped_steps == 1);
  CHECK(trained_w(trainer) == 0.0F);
}

TEST_CASE("batches whose weights are too large for sums of gradients are left out, with the weights in the text") {
  const WeightedByRow loss{[](const Outputs& outputs, const Inputs&) { return outputs[""]; }, "weight"};
  for (const auto& [name, strategy] : deciding_strategies()) {
    for (const int accumulated : {1, 2}) {
      CAPTURE(name, accumulated);
      // With weights of 1e37 the sum over the rows is infinite, and the quotients by it are 0. The losses, which stand
      // for large gradients of small losses, are 0.
      const auto weight = accumulated > 1 ? 1e29F : 1e37F;
      const auto data = batches_of({1e9F, 1e9F, 2.0F, 4.0F}, {weight, weight, 1.0F, 1.0F});
      const auto optimizer = Optimizer(Sgd{.lr = 1.0}).accumulating(accumulated);
      auto runtime = scheduled_runtime(7, 2);
      Trainer trainer(runtime, *strategy, times_a_scalar, optimizer, loss);
      const auto result = trainer.fit(data, {.on_non_finite_loss = NonFiniteLoss::skip});
      CHECK(trained_w(trainer) == (accumulated > 1 ? -3.0F : -6.0F));
      CHECK(result.epochs.at(0).training.skipped_steps == 2);
      Trainer stopped(runtime, *strategy, times_a_scalar, optimizer, loss);
      CHECK_THROWS_WITH(stopped.fit(data), Contains("[gradient] is infinite") && Contains("the weights of its rows"));
    }
  }
}

TEST_CASE("sums of weighted losses whose mean is infinite are left out") {
  const auto scaled = [](const Inputs& in) -> Outputs { return scale(scale(times_a_scalar(in)[""], 1e19), 1e19); };
  const WeightedByRow loss{[](const Outputs& outputs, const Inputs&) { return outputs[""]; }, "weight"};
  auto strategies = deciding_strategies();
  strategies.push_back({"local", std::make_shared<LocalSgd>(places_of(cpu_devices(2)), std::vector{Place{}},
                                                            LocalSgdOptions{.local_steps = 1})});
  for (const auto& [name, strategy] : strategies) {
    CAPTURE(name);
    auto runtime = scheduled_runtime(5, 2);
    Trainer trainer(runtime, *strategy, scaled, Sgd{.lr = 1.0}, loss);
    // The gradient of the first batch is 1e30 before, and 1e40 after it is divided by the weights.
    const auto result =
        trainer.fit(batches_of({100.0F, 1e-36F}, {1e-10F, 1.0F}), {.on_non_finite_loss = NonFiniteLoss::skip});
    CHECK(trained_w(trainer) == Approx(-100.0));
    CHECK(result.epochs.at(0).training.skipped_steps == 1);
  }
}
