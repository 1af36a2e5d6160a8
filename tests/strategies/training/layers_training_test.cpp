// Layers whose steps depend on the whole batch, on the step or on the batch before, on any number of replicas.

#include <tuple>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/ops/nn/sequence.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Dataset image_data() {
  constexpr std::int64_t kRows = 22;
  Tensor images({kRows, 4, 4, 2}, DType::float32), labels({kRows}, DType::int32);
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.mutable_data<float>()[i] = 3.0F + uniform(5, 0, static_cast<std::uint64_t>(i));
  for (std::int64_t i = 0; i < kRows; ++i) labels.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
  return Dataset::from_arrays({{"images", images}, {"labels", labels}}).shuffle(kRows).batch(9);
}

Dataset text_data(std::int64_t rows, std::int64_t batch) {
  Tensor tokens({rows, 5}, DType::int32), next({rows, 5}, DType::int32);
  for (std::int64_t i = 0; i < tokens.elements(); ++i) {
    tokens.mutable_data<std::int32_t>()[i] =
        static_cast<std::int32_t>(uniform_below(7, 3, 0, static_cast<std::uint64_t>(i)));
    next.mutable_data<std::int32_t>()[i] = (tokens.data<std::int32_t>()[i] * 3 + 1) % 7;
  }
  return Dataset::from_arrays({{"tokens", tokens}, {"next", next}}).batch(batch);
}

Sequential image_model() {
  return {
      Conv2d{.filters = 4, .kernel_size = 3, .options = {.padding = 1}, .bias = false},
      BatchNorm{},
      relu,
      Residual{.body = {Conv2d{.filters = 4, .kernel_size = 3, .options = {.padding = 1}, .bias = false}, BatchNorm{}},
               .activation = relu},
      GlobalAveragePool{},
      Dropout{0.25},
      Dense{3}};
}

Sequential text_model() {
  return {Embedding{7, 8}, PositionEmbedding{},
          Residual{{LayerNorm{}, MultiHeadAttention{.heads = 2, .causal = true}, Dropout{0.1}}},
          Residual{{RmsNorm{}, Dense{16, relu}, Dense{8}}}, Dense{7}};
}

/// The hidden state is carried over: every batch continues the sequences of the one before.
template <class Recurrent>
Value carried_model(const Inputs& in) {
  auto x = in["tokens"];
  const auto layer = [&](const auto& function, const std::string& name) {
    GraphBuilder::Scope scope(in.builder(), name);
    x = function(x);
  };
  layer(Embedding{7, 8}, "embedding");
  layer(Recurrent{.units = 6, .carried = {.rows = 6}}, "recurrent");
  layer(Dense{7}, "dense");
  return x;
}

Outcome run(int replicas, const Model& model, const Dataset& data, Grain grain, bool one_device = false) {
  auto runtime = scheduled_runtime(static_cast<std::uint64_t>(replicas) + 10, replicas);
  const Mirrored mirrored(cpu_devices(replicas));
  const OneDevice alone;
  const Strategy& strategy = one_device ? static_cast<const Strategy&>(alone) : mirrored;
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.2, .momentum = 0.5}, SoftmaxCrossEntropy{},
                  {.seed = 4, .grain = grain});
  Outcome outcome;
  trainer.fit(data, {.epochs = 4, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash();
  for (const auto& entry : trainer.parameters().entries())
    for (int replica = 1; replica < replicas; ++replica) {
      INFO(entry.name << " of replica " << replica);
      const auto first = trainer.parameters().get(entry.name, 0), other = trainer.parameters().get(entry.name, replica);
      CHECK(std::ranges::equal(first.data<float>(), other.data<float>()));
    }
  return outcome;
}

void check_replicas(const Model& model, const Dataset& data) {
  const auto one = run(1, model, data, Grain::fused, true);
  CHECK(one.losses.back() < one.losses.front());
  for (const int replicas : {1, 2, 4}) {
    const auto fused = run(replicas, model, data, Grain::fused);
    REQUIRE(fused.losses.size() == one.losses.size());
    for (std::size_t step = 0; step < one.losses.size(); ++step) {
      INFO(replicas << " replicas, step " << step);
      CHECK(fused.losses[step] == Approx(one.losses[step]).epsilon(1e-3));
    }
    CHECK(run(replicas, model, data, Grain::per_op) == fused);
    CHECK(run(replicas, model, data, Grain::chains) == fused);
  }
}

}  // namespace

TEST_CASE("batch norm over all replicas and dropout train as on one device, in every grain") {
  check_replicas(image_model(), image_data());
}

TEST_CASE("attention, its norms and dropout train as on one device, in every grain") {
  check_replicas(text_model(), text_data(22, 9));
}

TEST_CASE("recurrent layers carry their states over the batches, each replica for its rows") {
  check_replicas(carried_model<Lstm>, text_data(24, 6));
  check_replicas(carried_model<Gru>, text_data(24, 6));
}

TEST_CASE("a carried state refuses data whose batches do not continue each other, by its name", "[errors]") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, Model(carried_model<Lstm>), Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto data = text_data(24, 6).in_order().batch(6);
  CHECK_NOTHROW(trainer.fit(data));
  CHECK_THROWS_WITH(trainer.fit(data.shuffle(10)),
                    Contains("carries a state of 6 rows") && Contains("'tokens'") && Contains("is shuffled"));
  CHECK_THROWS_WITH(trainer.fit(data.batch(4)), Contains("has batches of 4 rows"));
  CHECK_THROWS_WITH(trainer.fit(data.take(20)), Contains("has a last batch of 2 rows"));
  CHECK_NOTHROW(trainer.evaluate(data.batch(4)));
}

TEST_CASE("a carried state is that at the end of the batch before, until a text begins") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  const auto model = [](const Inputs& in) -> Value {
    const auto embedded = Embedding{7, 3, Initializer::constant(0.1)}(in["tokens"]);
    GraphBuilder::Scope scope(in.builder(), "gru");
    const CarriedState carried{.rows = 6, .begins = in.has("begins") ? in["begins"] : Value()};
    return Gru{.units = 2, .carried = carried, .initializer = Initializer::constant(0.5)}(embedded);
  };
  const auto loss = [](const Outputs& outputs, const Inputs&) {
    return reduce_mean(outputs[""], std::vector<std::int64_t>{1, 2});
  };
  const auto state_after = [&](const Dataset& data, std::int64_t steps) {
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.0}, Loss(loss));
    trainer.fit(data, {.max_steps = steps});
    return trainer.parameters().get("gru.hidden").data<float>()[0];
  };
  const auto data = text_data(12, 6);
  const auto one = state_after(data, 1), two = state_after(data, 2);
  CHECK(one > 0.0F);
  CHECK(two > one);
  Tensor begins({12}, DType::float32);
  for (std::int64_t row = 6; row < 12; ++row) begins.mutable_data<float>()[row] = 1.0F;
  const auto anew = Dataset::from_arrays({{"tokens", data.array("tokens")}, {"begins", begins}}).batch(6);
  CHECK(state_after(anew, 2) == one);
}

TEST_CASE("running statistics come to those of the data, and are used outside training") {
  auto runtime = scheduled_runtime(1, 2);
  const Mirrored strategy(cpu_devices(2));
  const Sequential model{Flatten{}, BatchNorm{.momentum = 0.5}, Dense{3}};
  const auto data = image_data().batch(22);
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.0}, SoftmaxCrossEntropy{});
  trainer.fit(data, {.epochs = 30});
  const auto mean = trainer.parameters().get("norm1.mean"), variance = trainer.parameters().get("norm1.variance");
  const auto images = data.array("images");
  for (std::int64_t pixel = 0; pixel < 32; ++pixel) {
    double sum = 0.0, squares = 0.0;
    for (std::int64_t row = 0; row < 22; ++row) {
      const double x = images.data<float>()[row * 32 + pixel];
      sum += x;
      squares += x * x;
    }
    CHECK(mean.data<float>()[pixel] == Approx(sum / 22.0));
    CHECK(variance.data<float>()[pixel] == Approx(squares / 22.0 - sum / 22.0 * sum / 22.0).epsilon(1e-4));
  }
  // One row alone is predicted as in any batch.
  const auto all = trainer.predict(data.batch(22)), by_one = trainer.predict(data.batch(1));
  for (std::size_t i = 0; i < all.data<float>().size(); ++i)
    CHECK(by_one.data<float>()[i] == Approx(all.data<float>()[i]).margin(1e-5));
}

TEST_CASE("batch norm of a large mean is exact on any number of replicas, with uneven and empty parts") {
  for (const int replicas : {1, 2, 3, 4})
    for (const std::int64_t rows : {3, 129}) {
      INFO(replicas << " replicas, " << rows << " rows");
      Tensor x({rows, 1}, DType::float32), y({rows, 1}, DType::float32);
      double mean = 0.0, variance = 0.0;
      for (std::int64_t i = 0; i < rows; ++i) {
        x.mutable_data<float>()[i] = 10'000.0F + 3.0F * uniform(5, 0, static_cast<std::uint64_t>(i));
        mean += x.data<float>()[i] / static_cast<double>(rows);
      }
      for (const auto element : x.data<float>())
        variance += (element - mean) * (element - mean) / static_cast<double>(rows);
      auto runtime = scheduled_runtime(1, replicas);
      const Mirrored strategy(cpu_devices(replicas));
      // With a momentum of 1 the running statistics are those of the batch.
      Trainer trainer(runtime, strategy, Sequential{BatchNorm{.momentum = 1.0}, Dense{1}}, Sgd{.lr = 0.0},
                      MeanSquaredError{});
      trainer.fit(Dataset::from_arrays({{"x", x}, {"y", y}}).batch(rows), {.epochs = 1});
      CHECK(trainer.parameters().get("norm1.mean").data<float>()[0] == Approx(mean));
      CHECK(trainer.parameters().get("norm1.variance").data<float>()[0] == Approx(variance).epsilon(1e-3));
    }
}

TEST_CASE("a frozen batch norm keeps its running statistics and normalizes by them") {
  Tensor x({4, 1}, DType::float32), y({4, 1}, DType::float32);
  for (std::size_t i = 0; i < 4; ++i) x.mutable_data<float>()[i] = 5.0F + static_cast<float>(i);
  const auto data = Dataset::from_arrays({{"x", x}, {"y", y}}).batch(4);
  const auto is_norm = [](const std::string& name) { return name.starts_with("norm"); };
  const auto is_scale = [](const std::string& name) { return name == "norm1.scale"; };
  for (const int replicas : {1, 2}) {
    auto runtime = scheduled_runtime(1, replicas);
    const Mirrored strategy(cpu_devices(replicas));
    const auto fit = [&](const Optimizer& optimizer) {
      Trainer trainer(runtime, strategy, Sequential{BatchNorm{.momentum = 0.5}, Dense{1}}, optimizer,
                      MeanSquaredError{});
      const auto before = trainer.evaluate(data).loss;
      const auto loss = trainer.fit(data, {.epochs = 1}).epochs.back().training.loss;
      return std::tuple(trainer.parameters().get("norm1.mean").data<float>()[0],
                        trainer.parameters().get("norm1.variance").data<float>()[0], loss == Approx(before));
    };
    CHECK(fit(Optimizer(Sgd{.lr = 0.1}).frozen(is_norm)) == std::tuple(0.0F, 1.0F, true));
    const auto [mean, variance, same] = fit(Optimizer(Sgd{.lr = 0.1}).frozen(is_scale));
    CHECK(mean == Approx(3.25));
    CHECK_FALSE(same);
  }
}

TEST_CASE("a step whose loss is not finite leaves the buffers as they were") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Tensor x({4, 2}, DType::float32), y({4, 1}, DType::float32);
  for (auto& element : x.mutable_data<float>()) element = 5.0F;
  y.mutable_data<float>()[3] = std::numeric_limits<float>::infinity();
  Trainer trainer(runtime, strategy, Sequential{BatchNorm{}, Dense{1}}, Sgd{.lr = 0.1}, MeanSquaredError{});
  trainer.fit(Dataset::from_arrays({{"x", x}, {"y", y}}).batch(4), {.on_non_finite_loss = NonFiniteLoss::skip});
  const auto means = trainer.parameters().get("norm1.mean");
  for (const auto mean : means.data<float>()) CHECK(mean == 0.0F);
}

TEST_CASE("batch norm, dropout and carried states have the same bits in one process and in two") {
  const auto hash = [](const Model& model, const Dataset& data, int parts, Grain grain) {
    TrainerOptions options{.seed = 4, .grain = grain};
    for (int part = 1; part < parts; ++part) options.other_parts.push_back(scheduled_runtime(20, 2));
    const Mirrored strategy({{0, {DeviceType::cpu, 0}}, {parts - 1, {DeviceType::cpu, 1}}});
    const auto runtime = scheduled_runtime(21, 2);
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.2, .momentum = 0.5}, SoftmaxCrossEntropy{}, options);
    trainer.fit(data, {.epochs = 2});
    return trainer.parameters().hash();
  };
  for (const auto grain : {Grain::fused, Grain::per_op}) {
    CHECK(hash(image_model(), image_data(), 2, grain) == hash(image_model(), image_data(), 1, grain));
    const Model carried = carried_model<Lstm>;
    CHECK(hash(carried, text_data(24, 6), 2, grain) == hash(carried, text_data(24, 6), 1, grain));
  }
}
