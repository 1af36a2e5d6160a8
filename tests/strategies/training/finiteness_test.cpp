// One decision per step whether losses and gradients are finite, in every strategy.

#include <cmath>
#include <limits>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/step/flat_gradients.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/strategies/gradient_sender.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The field g, one number per row.
Dataset rows_with(const std::vector<float>& g, std::int64_t batch) {
  return Dataset::from_arrays({{"g", Tensor::from<float>({static_cast<std::int64_t>(g.size()), 1}, g)}}).batch(batch);
}

Value parameter_w(const Inputs& in) {
  return in.builder().parameter("w", {1}, Initializer::zeros());
}
Value per_row(Value column) {
  return reshape(column, {kBatch});
}

/// The loss of a row is w g, so that the gradient of w is the mean of g.
Outputs times_w(const Inputs& in) {
  return mul(in["g"], parameter_w(in));
}
/// The loss of a row is sqrt((w g)^2): the gradient of w is a NaN where g is 0, though the loss is finite.
Outputs root(const Inputs& in) {
  const auto product = mul(in["g"], in.builder().parameter("w", {1}, Initializer::constant(1.0)));
  return sqrt(mul(product, product));
}

const auto kLossOfRow = [](const Outputs& outputs, const Inputs&) { return per_row(outputs[""]); };

float w_of(const Trainer& trainer, int replica = 0) {
  return trainer.parameters().get("w", replica).item<float>();
}

using Hook = std::shared_ptr<const GradientHook>;

struct Setting {
  std::string name;
  std::shared_ptr<const Strategy> strategy;
};

/// Strategies with two replicas that decide together, with hooks and without, and one with a single replica.
std::vector<Setting> settings() {
  const auto places = places_of(cpu_devices(2));
  const std::vector<Place> server{{0, {}}};
  const auto with_hook = [&](const std::string& hook) {
    return std::make_shared<Mirrored>(places, MirroredOptions{.hook = gradient_hook_of(hook)});
  };
  const auto server_with = [&](const std::string& hook) {
    return std::make_shared<ParameterServer>(places, server, ConsistencyRule::synchronous(2),
                                             ServerOptions{.hook = gradient_hook_of(hook)});
  };
  std::vector<Setting> all{{"one device", std::make_shared<OneDevice>()}};
  all.push_back({"atomic", std::make_shared<Mirrored>(places, MirroredOptions{.atomic_steps = true})});
  for (const auto* hook : {"none", "float16", "bfloat16", "top_k:1", "power_sgd:1"}) {
    all.push_back({std::string("mirrored ") + hook, with_hook(hook)});
    all.push_back({std::string("server ") + hook, server_with(hook)});
  }
  return all;
}

/// A user's hook that sends gradients as integers.
class Bytes final : public GradientHook {
 public:
  Value encode(std::span<const Value> gradients, const Site&) const override {
    return cast(flattened(gradients), DType::uint8);
  }
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override {
    return unflattened(cast(encoded, DType::float32), shapes);
  }
};

}  // namespace

TEST_CASE("a gradient that is not finite makes no update, and the step is counted as skipped") {
  for (const auto& [name, strategy] : settings()) {
    CAPTURE(name);
    const auto grain = GENERATE(Grain::fused, Grain::per_op);
    auto runtime = scheduled_runtime(1, 2);
    Trainer trainer(runtime, *strategy, root, Sgd{.lr = 0.25}, kLossOfRow, {.grain = grain});
    // The row with 0 is in the second batch.
    const auto result = trainer.fit(rows_with({1, 1, 1, 0, 1, 1}, 2), {.on_non_finite_loss = NonFiniteLoss::skip});
    CHECK(w_of(trainer) == 0.5F);
    CHECK(result.epochs.at(0).training.steps == 3);
    CHECK(result.epochs.at(0).training.skipped_steps == 1);
    CHECK(result.epochs.at(0).training.rows == 4);
  }
}

TEST_CASE("a gradient that is not finite ends a fit that does not skip it, with the step") {
  for (const auto& [name, strategy] : settings()) {
    CAPTURE(name);
    auto runtime = scheduled_runtime(3, 2);
    Trainer trainer(runtime, *strategy, root, Sgd{.lr = 0.25}, kLossOfRow);
    CHECK_THROWS_WITH(trainer.fit(rows_with({1, 1, 1, 0, 1, 1}, 2)), Contains("[gradient] ") && Contains("step 1"));
    CHECK(std::isfinite(w_of(trainer)));
    CHECK(trainer.parameters().broken().empty());
  }
}

TEST_CASE("a sum of gradients that a hook or float32 cannot hold makes no update") {
  const auto places = places_of(cpu_devices(2));
  auto runtime = scheduled_runtime(5, 2);
  SECTION("float16 of each gradient") {
    const Mirrored strategy(places, {.hook = gradient_hook_of("float16")});
    Trainer trainer(runtime, strategy, times_w, Sgd{.lr = 1e-5}, kLossOfRow);
    const auto result =
        trainer.fit(rows_with({1e5F, 1e5F, 1e3F, 1e3F}, 2), {.on_non_finite_loss = NonFiniteLoss::skip});
    CHECK(w_of(trainer) == Approx(-0.01));
    CHECK(result.epochs.at(0).training.skipped_steps == 1);
  }
  SECTION("float16 of the sum") {
    const Mirrored strategy(places, {.hook = gradient_hook_of("float16")});
    Trainer trainer(runtime, strategy, times_w, Sgd{.lr = 1e-5}, kLossOfRow);
    trainer.fit(rows_with({8e4F, 8e4F, 1e3F, 1e3F}, 2), {.on_non_finite_loss = NonFiniteLoss::skip});
    CHECK(w_of(trainer) == Approx(-0.01));
  }
  SECTION("the sum of two servers' workers, in float32") {
    const ParameterServer strategy(places, {Place{}}, ConsistencyRule::synchronous(2));
    Trainer trainer(runtime, strategy, times_w, Sgd{.lr = 1e-38}, kLossOfRow);
    const auto result =
        trainer.fit(rows_with({3.4e38F, 3.4e38F, 1e38F, 1e38F}, 2), {.on_non_finite_loss = NonFiniteLoss::skip});
    CHECK(w_of(trainer) == Approx(-1.0));
    CHECK(result.epochs.at(0).training.skipped_steps == 1);
    CHECK_THROWS_WITH(trainer.fit(rows_with({3.4e38F, 3.4e38F}, 2)), Contains("[gradient] "));
  }
}

TEST_CASE("a hook may send integers, and loses no NaN") {
  const Hook hook = std::make_shared<Bytes>();
  const auto places = places_of(cpu_devices(2));
  std::vector<std::shared_ptr<const Strategy>> strategies{
      std::make_shared<Mirrored>(places, MirroredOptions{.hook = hook}),
      std::make_shared<ParameterServer>(places, std::vector<Place>{{}}, ConsistencyRule::synchronous(2),
                                        ServerOptions{.hook = hook})};
  for (const auto& strategy : strategies) {
    auto runtime = scheduled_runtime(7, 2);
    Trainer trainer(runtime, *strategy, times_w, Sgd{.lr = 1.0}, kLossOfRow);
    trainer.fit(rows_with({4, 2, kNaN, 2, 2, 2}, 2), {.on_non_finite_loss = NonFiniteLoss::skip});
    CHECK(w_of(trainer) == -5.0F);
  }
}

TEST_CASE("a step that fails on one replica changes no state of a hook on any replica") {
  const auto hook = gradient_hook_of(GENERATE("top_k:0.2", "power_sgd:1"));
  const auto grain = GENERATE(Grain::fused, Grain::per_op);
  const auto places = places_of(cpu_devices(2));
  const std::vector<std::shared_ptr<const Strategy>> strategies{
      std::make_shared<Mirrored>(places, MirroredOptions{.hook = hook}),
      std::make_shared<ParameterServer>(places, std::vector<Place>{{}, {}}, ConsistencyRule::synchronous(2),
                                        ServerOptions{.hook = hook})};
  // Rows of g with 6 columns, without order; a row is `failing` if it has a NaN.
  const auto data = [](const std::vector<bool>& failing) {
    Tensor g({static_cast<std::int64_t>(failing.size()), 6}, DType::float32);
    std::size_t row = 0, number = 0;
    for (auto& element : g.mutable_data<float>()) element = static_cast<float>(++number * 7 % 11) - 5.0F;
    for (const bool fails : failing) g.mutable_data<float>()[6 * row++] *= fails ? kNaN : 1.0F;
    return Dataset::from_arrays({{"g", g}}).batch(2);
  };
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    CAPTURE(i);
    auto runtime = scheduled_runtime(19, 2);
    // Returns the parameter and the states of the hook behind a training over one good batch and `more`.
    const auto train = [&](const std::vector<bool>& more) {
      const auto model = [](const Inputs& in) -> Outputs {
        const auto w = in.builder().parameter("w", {6, 4}, Initializer::normal(1.0));
        return reduce_sum(sigmoid(matmul(in["g"], w)), {1});
      };
      Trainer trainer(runtime, *strategies[i], model, Sgd{.lr = 0.1},
                      [](const Outputs& outputs, const Inputs&) { return outputs[""]; }, {.seed = 3, .grain = grain});
      trainer.fit(data({false, false}));
      if (!more.empty()) trainer.fit(data(more), {.on_non_finite_loss = NonFiniteLoss::skip});
      std::vector<std::vector<float>> values;
      for (const auto& parameter : trainer.training_plan(data({false, false})).parameters)
        values.push_back(elements(trainer.parameters().get(parameter.ref.name, parameter.ref.replica)));
      return values;
    };
    const auto before = train({});
    CHECK(before.size() > 2);
    CHECK(train({false, true}) == before);
    CHECK(train({true, false}) == before);
    CHECK(train({false, false}) != before);
  }
}

TEST_CASE("a worker of local SGD skips its own part of a step, and the metrics count the parts that were applied") {
  const LocalSgd strategy(places_of(cpu_devices(2)), {Place{}}, {.local_steps = 1});
  auto runtime = scheduled_runtime(9, 2);
  Trainer trainer(runtime, strategy, times_w, Sgd{.lr = 1.0}, kLossOfRow);
  std::vector<StepMetrics> steps;
  const auto result = trainer.fit(
      rows_with({kNaN, 1}, 2),
      {.on_step = [&](const StepMetrics& step) { steps.push_back(step); }, .on_non_finite_loss = NonFiniteLoss::skip});
  // The copy of worker 0 stays 0 and that of worker 1 becomes -1; the server takes the mean over their rows.
  CHECK(w_of(trainer) == -0.5F);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].finite());
  CHECK(steps[0].rows == 1);
  CHECK(result.epochs.at(0).training.skipped_steps == 0);
}

TEST_CASE("an update of backup workers with a hook is left out if one of its gradients is not finite") {
  const auto hook = GENERATE("none", "bfloat16", "top_k:1");
  const ParameterServer strategy(places_of(cpu_devices(3)), {Place{}}, ConsistencyRule::with_backup(3, 1),
                                 {.hook = gradient_hook_of(hook)});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CAPTURE(hook, seed);
    auto runtime = scheduled_runtime(seed, 2);
    Trainer trainer(runtime, strategy, root, Sgd{.lr = 0.25}, kLossOfRow);
    trainer.fit(rows_with({1, 0, 1, 1, 0, 1, 1, 1}, 1), {.on_non_finite_loss = NonFiniteLoss::skip});
    CHECK(std::isfinite(w_of(trainer)));
  }
}

TEST_CASE("a sum of gradients that servers cannot hold makes no update, with a hook and without") {
  const auto hook = GENERATE("none", "bfloat16", "top_k:1", "power_sgd:1");
  CAPTURE(hook);
  const ParameterServer strategy(places_of(cpu_devices(3)), {Place{}}, ConsistencyRule::synchronous(3),
                                 {.hook = gradient_hook_of(hook)});
  auto runtime = scheduled_runtime(15, 2);
  const auto four_times_w = [](const Inputs& in) -> Outputs { return scale(mul(in["g"], parameter_w(in)), 4.0); };
  Trainer trainer(runtime, strategy, four_times_w, Sgd{.lr = 1.0}, kLossOfRow);
  // Each worker's gradient is finite, and a third of 4 g.
  const std::vector<float> g{1.1e38F, 1.1e38F, 1.1e38F, 1, 1, 1};
  const auto result = trainer.fit(rows_with(g, 3), {.on_non_finite_loss = NonFiniteLoss::skip});
  CHECK(w_of(trainer) == Approx(-4.0).epsilon(0.01));
  CHECK(result.epochs.at(0).training.skipped_steps == 1);
}

TEST_CASE("shards of rows and of blocks leave out the same updates") {
  const auto rule = GENERATE(ConsistencyRule::with_backup(3, 1), ConsistencyRule::synchronous(3));
  const auto hook = GENERATE("none", "bfloat16");
  const ParameterServer strategy(places_of(cpu_devices(3)), {Place{}, Place{}}, rule, {.hook = gradient_hook_of(hook)});
  // The gradients of w and of row 0 of the table are the mean of g.
  const auto model = [](const Inputs& in) -> Outputs {
    const auto table = in.builder().row_sparse_parameter("table", {2, 1}, Initializer::zeros());
    return add(mul(in["g"], parameter_w(in)), mul(in["g"], gather(table, in["row"])));
  };
  for (const float g : {4e37F, 1e38F, 1.5e38F, 3e38F}) {
    CAPTURE(rule.quorum, hook, g);
    auto runtime = scheduled_runtime(17, 2);
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 1e-38}, kLossOfRow);
    const std::vector<float> all(6, g);
    const auto data =
        Dataset::from_arrays({{"g", Tensor::from<float>({6, 1}, all)}, {"row", Tensor({6}, DType::int32)}});
    const auto result = trainer.fit(data.batch(3), {.on_non_finite_loss = NonFiniteLoss::skip});
    const auto table = trainer.parameters().get("table");
    const auto w = w_of(trainer), row = table.data<float>()[0];
    CHECK((w != 0.0F) == (row != 0.0F));
    CHECK((w != 0.0F) == (result.epochs.at(0).training.rows > 0));
    CHECK(std::isfinite(w));
  }
}

TEST_CASE("workers of asynchronous servers decide for themselves") {
  const ParameterServer strategy(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::asynchronous(2));
  auto runtime = scheduled_runtime(11, 2);
  Trainer trainer(runtime, strategy, root, Sgd{.lr = 0.25}, kLossOfRow);
  const auto result = trainer.fit(rows_with({1, 1, 0, 1, 1, 1}, 2), {.on_non_finite_loss = NonFiniteLoss::skip});
  CHECK(std::isfinite(w_of(trainer)));
  CHECK(result.epochs.at(0).training.skipped_steps >= 1);
}

TEST_CASE("the decision can be switched off") {
  for (const auto& [name, strategy] : settings()) {
    CAPTURE(name);
    auto runtime = scheduled_runtime(13, 2);
    Trainer trainer(runtime, *strategy, root, Sgd{.lr = 0.25}, kLossOfRow, {.check_finite = false});
    const auto result = trainer.fit(rows_with({1, 0}, 2));
    CHECK(std::isnan(w_of(trainer)));
    CHECK(result.epochs.at(0).training.skipped_steps == 0);
  }
}

TEST_CASE("a plan that takes no decision computes no magnitudes") {
  for (const auto& [name, strategy] : settings()) {
    CAPTURE(name);
    auto runtime = scheduled_runtime(13, 2);
    const auto data = rows_with({1, 2}, 2);
    for (const bool check : {true, false}) {
      Trainer trainer(runtime, *strategy, root, Sgd{.lr = 0.25}, kLossOfRow, {.check_finite = check});
      CHECK((to_text(trainer.training_plan(data)).find("largest_magnitude") != std::string::npos) == check);
    }
  }
}
