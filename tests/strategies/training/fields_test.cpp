// Training on fields that are no images with labels.

#include <cmath>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kRowsOfFields = 61;

/// y = 2 a0 - a1 + 3 b + 0.5, from two inputs; "name" has no reader.
Dataset regression_data() {
  Tensor a({kRowsOfFields, 2}, DType::float32), b({kRowsOfFields, 1}, DType::float32),
      y({kRowsOfFields, 1}, DType::float32), name({kRowsOfFields, 3}, DType::uint8);
  for (std::int64_t row = 0; row < kRowsOfFields; ++row) {
    const auto draw = [&](std::uint64_t i) { return uniform(1, i, static_cast<std::uint64_t>(row)) - 0.5F; };
    a.mutable_data<float>()[2 * row] = draw(0);
    a.mutable_data<float>()[2 * row + 1] = draw(1);
    b.mutable_data<float>()[row] = draw(2);
    y.mutable_data<float>()[row] = 2.0F * draw(0) - draw(1) + 3.0F * draw(2) + 0.5F;
  }
  return Dataset::from_arrays({{"name", name}, {"a", a}, {"b", b}, {"y", y}});
}

/// A linear model of both inputs.
Outputs linear_model(const Inputs& in) {
  auto& builder = in.builder();
  const auto w = builder.parameter("w", {2, 1}, Initializer::zeros());
  const auto v = builder.parameter("v", {1, 1}, Initializer::zeros());
  const auto bias = builder.parameter("bias", {1}, Initializer::zeros());
  return {{"prediction", add(add(matmul(in["a"], w), matmul(in["b"], v)), bias)}, {"a_part", matmul(in["a"], w)}};
}

const MeanSquaredError kLoss{.output = "prediction", .target = "y"};

}  // namespace

TEST_CASE("a regression with two inputs and float targets, on uneven and empty parts") {
  const auto data = regression_data().shuffle(kRowsOfFields).batch(20);
  std::vector<double> losses_of_one;
  for (int replicas : {1, 2, 3, 5}) {
    auto runtime = scheduled_runtime(static_cast<std::uint64_t>(replicas), replicas);
    const Mirrored strategy(cpu_devices(replicas));
    std::string hash;
    for (const auto grain : {Grain::fused, Grain::per_op}) {
      Trainer trainer(runtime, strategy, linear_model, Sgd{.lr = 0.3}, kLoss,
                      {.grain = grain, .metrics = {{mean_squared_error("prediction", "y")}}});
      std::vector<double> losses;
      // The last batch has one row, which replica 0 gets.
      trainer.fit(data, {.epochs = 40, .on_step = [&](const StepMetrics& step) {
                           CHECK(step.values["mean_squared_error"] == Approx(step.loss).margin(1e-6));
                           losses.push_back(step.loss);
                         }});
      CHECK(losses.size() == 160);
      if (losses_of_one.empty()) losses_of_one = losses;
      for (std::size_t i = 0; i < losses.size(); ++i)
        CHECK(losses[i] == Approx(losses_of_one[i]).epsilon(1e-3).margin(1e-6));
      if (hash.empty()) hash = trainer.parameters().hash();
      CHECK(trainer.parameters().hash() == hash);
      const auto result = trainer.evaluate(data.batch(7));
      CHECK(result.loss < 1e-3);
      CHECK(result["mean_squared_error"] == Approx(result.loss).margin(1e-6));
      CHECK(trainer.parameters().get("v", 0).item<float>() == Approx(3.0F).epsilon(0.05));
    }
  }
}

TEST_CASE("outputs are predicted by name, from the fields that the model reads") {
  auto runtime = scheduled_runtime(1, 2);
  const Mirrored strategy(cpu_devices(2));
  const auto data = regression_data();
  Trainer trainer(runtime, strategy, linear_model, Sgd{.lr = 0.3}, kLoss);
  trainer.fit(data.batch(20), {.epochs = 60});
  Tensor a({3, 2}, DType::float32), b({3, 1}, DType::float32);
  for (int row = 0; row < 3; ++row) a.mutable_data<float>()[2 * row] = static_cast<float>(row);
  // Without a target, and in another order.
  const auto unlabelled = Dataset::from_arrays({{"b", b}, {"a", a}});
  const auto predicted = trainer.predict(unlabelled.batch(2), "prediction");
  REQUIRE(predicted.shape() == Shape{3, 1});
  for (int row = 0; row < 3; ++row) CHECK(predicted.data<float>()[row] == Approx(2.0 * row + 0.5).margin(0.05));
  CHECK(trainer.predict(unlabelled.batch(2), "a_part").data<float>()[1] == Approx(2.0).margin(0.05));
  CHECK_THROWS_WITH(trainer.predict(unlabelled), Contains("several outputs"));
  CHECK_THROWS_WITH(trainer.evaluate(unlabelled), Contains("no field 'y' among 'b' float32[B, 1], 'a' float32[B, 2]"));
}

TEST_CASE("results and targets of one number a row, without metrics") {
  const auto data = Dataset::from_arrays({{"x", Tensor::from<float>({4, 1}, std::vector<float>{0, 1, 2, 3})},
                                          {"y", Tensor::from<float>({4}, std::vector<float>{1, 3, 5, 7})}});
  auto runtime = scheduled_runtime(1, 3);
  const Mirrored strategy(cpu_devices(3));
  const auto model = [](Value x) { return reduce_sum(Dense{1}(x), std::vector<std::int64_t>{1}); };
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, MeanSquaredError{});
  trainer.fit(data.batch(4), {.epochs = 300});
  const auto result = trainer.evaluate(data.batch(3));
  CHECK(result.loss < 1e-3);
  CHECK(result.values.entries().empty());
  CHECK(trainer.predict(data).shape() == Shape{4});
}

TEST_CASE("several losses, weighted by a field, are one function") {
  const auto data = regression_data().batch(16);
  auto runtime = scheduled_runtime(4, 2);
  const Mirrored strategy(cpu_devices(2));
  const auto loss = [](const Outputs& out, const Inputs& in) {
    const auto small = MeanSquaredError{.output = "a_part", .target = "y"}(out, in);
    return add(kLoss(out, in), scale(mul(small, reduce_mean(in["b"], std::vector<std::int64_t>{1})), 0.01));
  };
  Trainer trainer(runtime, strategy, linear_model, Sgd{.lr = 0.1}, loss);
  const auto before = trainer.evaluate(data).loss;
  trainer.fit(data, {.epochs = 20});
  CHECK(trainer.evaluate(data).loss < 0.2 * before);
}

TEST_CASE("a field that the model uses in training alone is loaded in training alone") {
  const auto data = regression_data().batch(20);
  const auto noisy = [](const Inputs& in) {
    const auto noise = in["b"];
    const auto w = in.builder().parameter("w", {2, 1}, Initializer::zeros());
    const auto y = matmul(in["a"], w);
    return Outputs{{"prediction", in.builder().training() ? add(y, noise) : y}};
  };
  for (const int replicas : {1, 2}) {
    auto runtime = scheduled_runtime(1, replicas);
    const Mirrored mirrored(cpu_devices(replicas));
    const ParameterServer servers(places_of(cpu_devices(replicas)), {Place{}}, ConsistencyRule::synchronous(replicas));
    for (const Strategy* strategy : {static_cast<const Strategy*>(&mirrored), static_cast<const Strategy*>(&servers)})
      for (const auto grain : {Grain::fused, Grain::per_op}) {
        Trainer trainer(runtime, *strategy, noisy, Sgd{.lr = 0.3}, kLoss, {.grain = grain, .metrics = {{}}});
        trainer.fit(data);
        const auto w = trainer.parameters().get("w");
        double sum = 0.0;
        const auto predictions = trainer.predict(data, "prediction");
        const auto a = data.array("a"), y = data.array("y");
        for (std::int64_t row = 0; row < kRowsOfFields; ++row) {
          const auto predicted =
              a.data<float>()[2 * row] * w.data<float>()[0] + a.data<float>()[2 * row + 1] * w.data<float>()[1];
          CHECK(predictions.data<float>()[row] == Approx(predicted).margin(1e-6));
          sum += std::pow(predicted - y.data<float>()[row], 2.0);
        }
        CHECK(trainer.evaluate(data).loss == Approx(sum / kRowsOfFields).epsilon(1e-5));
      }
  }
}
