// Models whose training has other parameters than their evaluation, and values under names that the model lacks.

#include "troupe/strategies/training/model_parameters.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/predictor.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kWide = 4;

/// x times `first`, times `scale` in evaluation alone, times `last`; training has an auxiliary head between the two.
Outputs model_with_head(const Inputs& in) {
  auto& builder = in.builder();
  const auto of_shape = [&](const std::string& name) {
    return builder.parameter(name, {kWide, kWide}, Initializer::glorot_uniform());
  };
  auto x = matmul(in["x"], of_shape("first"));
  if (!builder.training()) x = matmul(x, of_shape("scale"));
  const auto head = builder.training() ? matmul(x, of_shape("head")) : x;
  return {{"y", matmul(x, of_shape("last"))}, {"head", head}};
}

/// The sum of the squares of each row.
Value squares_of_rows(Value x) {
  return reshape(reduce_sum(mul(x, x), {1}), {kBatch});
}

Value loss_of_head(const Outputs& out, const Inputs& in) {
  return add(squares_of_rows(sub(out["y"], in["x"])), squares_of_rows(sub(out["head"], in["x"])));
}

Dataset data_with_head() {
  Tensor x({12, kWide}, DType::float32);
  for (std::int64_t i = 0; i < x.elements(); ++i) x.mutable_data<float>()[i] = 0.1F * static_cast<float>(i % 7);
  return Dataset::from_arrays({{"x", x}}).batch(4);
}

std::vector<std::string> names_of(const std::vector<PlanParameter>& parameters) {
  std::vector<std::string> names;
  for (const auto& parameter : parameters) names.push_back(parameter.ref.name);
  return names;
}

/// The values of the parameters of a trainer whose model has not been trained.
std::vector<std::vector<float>> values_of(const Trainer& trainer) {
  std::vector<std::vector<float>> values;
  for (const auto* name : {"first", "head", "last", "scale"}) {
    const auto value = trainer.parameters().get(name);
    values.emplace_back(value.data<float>().begin(), value.data<float>().end());
  }
  return values;
}

/// The first uses of a trainer: a fit, an evaluation and two predictions.
std::vector<std::function<void(Trainer&)>> first_uses() {
  return {[](Trainer& trainer) { trainer.fit(data_with_head(), {.max_steps = 0}); },
          [](Trainer& trainer) { trainer.evaluate(data_with_head()); },
          [](Trainer& trainer) { trainer.predict(data_with_head(), "y"); },
          [](Trainer& trainer) { Predictor(trainer, data_with_head().fields()); }};
}

}  // namespace

TEST_CASE("the parameters of a model are those of training, then those that evaluation alone has") {
  const TrainingSpec spec{model_with_head, loss_of_head, Sgd{.lr = 0.1}};
  CHECK(names_of(model_parameters(spec, data_with_head().fields())) ==
        std::vector<std::string>{"first", "head", "last", "scale"});
  // The loss lacks its field, so the parameters of the model alone are known.
  const TrainingSpec without_label{
      model_with_head, [](const Outputs& out, const Inputs& in) { return squares_of_rows(sub(out["y"], in["label"])); },
      Sgd{.lr = 0.1}};
  CHECK(names_of(model_parameters(without_label, data_with_head().fields())).size() == 4);
  CHECK(model_parameters(spec, {{"z", {Shape{kBatch, kWide}, DType::float32}}}).empty());
}

TEST_CASE("start values are the same after each first use of a trainer") {
  const auto places = places_of(cpu_devices(2));
  const Mirrored mirrored(places);
  const ParameterServer servers(places, {Place{}, Place{}}, ConsistencyRule::synchronous(2));
  const LocalSgd local(places, {Place{}});
  const OneDevice one;
  std::vector<std::vector<float>> expected;
  for (const auto* strategy : std::vector<const Strategy*>{&one, &mirrored, &servers, &local})
    for (const auto& use : first_uses()) {
      auto runtime = scheduled_runtime(1, 2);
      Trainer trainer(runtime, *strategy, model_with_head, Sgd{.lr = 0.1}, loss_of_head, {.seed = 1});
      use(trainer);
      trainer.fit(data_with_head(), {.max_steps = 0});
      trainer.evaluate(data_with_head());
      const auto values = values_of(trainer);
      if (expected.empty()) expected = values;
      CHECK(values == expected);
    }
}

TEST_CASE("values for all parameters of a model are taken by a first fit and by a first evaluation") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer source(runtime, strategy, model_with_head, Sgd{.lr = 0.1, .momentum = 0.5}, loss_of_head, {.seed = 1});
  source.fit(data_with_head(), {.epochs = 1});
  source.evaluate(data_with_head());
  const auto arrays = source.parameter_arrays();
  REQUIRE(arrays.size() == 4);
  for (const bool evaluates_first : {false, true}) {
    Trainer trainer(runtime, strategy, model_with_head, Sgd{.lr = 0.1}, loss_of_head, {.seed = 2});
    trainer.set_parameters(arrays);
    if (evaluates_first) CHECK(trainer.evaluate(data_with_head()).loss == source.evaluate(data_with_head()).loss);
    trainer.fit(data_with_head(), {.max_steps = 0});
    CHECK(trainer.evaluate(data_with_head()).loss == source.evaluate(data_with_head()).loss);
    CHECK(values_of(trainer) == values_of(source));
    trainer.set_parameters(arrays);
  }
}

TEST_CASE("all parameters of a model, and no others, may be set after each first use of a trainer") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  const auto value = Tensor::from<float>({kWide, kWide}, std::vector<float>(kWide * kWide, 0.5F));
  Trainer::Arrays arrays;
  for (const auto* name : {"first", "head", "last", "scale"}) arrays.emplace_back(name, value);
  for (const auto& use : first_uses()) {
    const auto store = std::make_shared<ParameterStore>(1);
    const auto trainer_named = [&](const std::string& name, const Model& model, const Loss& loss) {
      return std::make_unique<Trainer>(runtime, strategy, model, Sgd{.lr = 0.1}, loss,
                                       TrainerOptions{.parameters = store, .name = name});
    };
    const auto trainer = trainer_named("a", model_with_head, loss_of_head);
    use(*trainer);
    trainer->set_parameters(arrays);
    trainer->evaluate(data_with_head());
    trainer->fit(data_with_head(), {.max_steps = 0});
    for (const auto& values : values_of(*trainer)) CHECK(values == std::vector<float>(kWide * kWide, 0.5F));
    CHECK_THROWS_WITH(trainer->set_parameters({{"model.first", value}}),
                      Contains("[trainer] the model has no parameter 'model.first'"));
    // A model that no plan has yet.
    const Model other = [](const Inputs& in) -> Outputs {
      return {{"y", matmul(in["x"], in.builder().parameter("other", {kWide, kWide}, Initializer::zeros()))}};
    };
    const auto second =
        trainer_named("b", other, [](const Outputs& out, const Inputs&) { return squares_of_rows(out["y"]); });
    second->set_parameters({{"other", value}});
    second->fit(data_with_head(), {.max_steps = 0});
    CHECK(store->get("other").data<float>()[0] == 0.5F);
  }
}

TEST_CASE("a fit with the actors of the fit before takes values of parameters that evaluation alone has") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, model_with_head, Sgd{.lr = 0.1}, loss_of_head, {.seed = 2});
  const auto data = data_with_head();
  trainer.fit(data);
  trainer.set_parameters({{"scale", Tensor({kWide, kWide}, DType::float32)}});
  trainer.fit(data);
  CHECK(trainer.parameters().get("scale").data<float>()[0] == 0.0F);
  CHECK(trainer.predict(data_with_head(), "y").data<float>()[0] == 0.0F);
}

TEST_CASE("a prediction refuses values under names that the model lacks, while a parameter has none") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, model_with_head, Sgd{.lr = 0.1}, loss_of_head, {.seed = 2});
  const Tensor value({kWide, kWide}, DType::float32);
  trainer.set_parameters({{"first", value}, {"model.last", value}});
  const std::string refusal = "a value was set for 'model.last'";
  CHECK_THROWS_WITH(trainer.predict(data_with_head(), "y"), Contains(refusal) && Contains("'last'"));
  CHECK_THROWS_WITH(Predictor(trainer, data_with_head().fields()), Contains(refusal) && Contains("'last'"));
  // A value of another model with all values of this one disturbs no prediction.
  trainer.set_parameters({{"last", value}, {"scale", value}, {"head", value}});
  CHECK(trainer.predict(data_with_head(), "y").data<float>()[0] == 0.0F);
}
