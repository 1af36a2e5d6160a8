#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/row_sparse_model.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

struct Setting {
  Optimizer optimizer;
  Lookups lookups = Lookups::one;
  Grain grain = Grain::fused;
  bool row_sparse = true;
};

Outcome train_sentences(Runtime& runtime, const Strategy& strategy, const Setting& setting) {
  Trainer trainer(runtime, strategy, sentence_model(setting.lookups, setting.row_sparse), setting.optimizer,
                  SoftmaxCrossEntropy{}, {.seed = 5, .grain = setting.grain});
  Outcome outcome;
  trainer.fit(sentences(16),
              {.epochs = 2, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash(0);
  return outcome;
}

ParameterServer with_servers(const ConsistencyRule& rule, int servers, const Sharding& sharding = {}) {
  return {places_of(cpu_devices(rule.workers)), places_of(cpu_devices(servers)), rule, {.sharding = sharding}};
}

Optimizer optimizer_named(const std::string& name) {
  if (name == "sgd") return Sgd{.lr = 0.3};
  if (name == "momentum") return Sgd{.lr = 0.1, .momentum = 0.7, .nesterov = true, .weight_decay = 0.01};
  if (name == "adam") return Adam{.lr = 0.02, .weight_decay = 0.01};
  if (name == "adamw") return AdamW{.lr = 0.02};
  if (name == "rms_prop") return RmsProp{.lr = 0.02};
  return Adagrad{.lr = 0.1, .clip_value = 0.05};
}

std::size_t row_shards_in(const Strategy& strategy, const Setting& setting) {
  auto runtime = scheduled_runtime(0);
  const TrainingSpec spec{sentence_model(setting.lookups, setting.row_sparse), SoftmaxCrossEntropy{},
                          setting.optimizer};
  const auto plan = strategy.training_plan({spec, sentences(16), 0, {}});
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.actors, [](const PlanActor& actor) { return actor.task.kind == "row_shard"; }));
}

}  // namespace

TEST_CASE("rows that are pushed and pulled come to the bits of whole parameters on every replica") {
  const auto name = GENERATE("sgd", "momentum", "adam", "adamw", "rms_prop", "adagrad");
  const int workers = GENERATE(1, 2, 3);
  const auto lookups = GENERATE(Lookups::one, Lookups::several);
  const auto grain = GENERATE(Grain::fused, Grain::per_op);
  if (has_sanitizer() && grain == Grain::per_op && workers != 2) return;
  const Setting setting{optimizer_named(name), lookups, grain};
  CAPTURE(name, workers, lookups, grain);
  auto runtime = scheduled_runtime(11);
  const auto mirrored = train_sentences(runtime, Mirrored(cpu_devices(workers)), setting);
  for (const int shards : {1, 2, 5}) {
    CAPTURE(shards);
    const auto strategy =
        with_servers(ConsistencyRule::synchronous(workers), 2, {fixed_shards(shards), Placement::round_robin});
    const auto sharded = train_sentences(runtime, strategy, setting);
    CHECK(sharded.losses == mirrored.losses);
    CHECK(sharded.hash == mirrored.hash);
  }
}

TEST_CASE("rows that lie in several parts of this process come together after each run") {
  const auto rule = GENERATE(ConsistencyRule::synchronous(2), ConsistencyRule::asynchronous(2));
  const bool row_sparse = GENERATE(false, true);
  const Device host{DeviceType::cpu, 0};
  const ParameterServer strategy(places_of(cpu_devices(2)), {{0, host}, {1, host}}, rule,
                                 {.sharding = {fixed_shards(2), Placement::round_robin}});
  const auto model = sentence_model(Lookups::one, row_sparse);
  const auto untrained = [&] {
    auto runtime = scheduled_runtime(11);
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.0}, SoftmaxCrossEntropy{},
                    {.seed = 5, .other_parts = {scheduled_runtime(12)}});
    trainer.fit(sentences(16), {.epochs = 1});
    return trainer.parameters().get("words");
  }();
  auto runtime = scheduled_runtime(11);
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.3}, SoftmaxCrossEntropy{},
                  {.seed = 5, .other_parts = {scheduled_runtime(12)}});
  trainer.fit(sentences(16), {.epochs = 2});
  const auto trained = trainer.parameters().get("words");
  const auto row_differs = [&](std::int64_t row) {
    const auto before = untrained.rows(row, 1), after = trained.rows(row, 1);
    return !std::ranges::equal(before.data<float>(), after.data<float>());
  };
  CHECK(row_differs(1));
  CHECK(row_differs(trained.shape()[0] - 1));
  if (rule.quorum < 2) return;
  auto other = scheduled_runtime(11);
  const auto mirrored =
      train_sentences(other, Mirrored(cpu_devices(2)), {Sgd{.lr = 0.3}, Lookups::one, Grain::fused, row_sparse});
  CHECK(trainer.parameters().hash(0) == mirrored.hash);
}

TEST_CASE("where an optimizer leaves rows without a gradient alone, row-sparse parameters are trained as dense ones") {
  const auto name = GENERATE("sgd", "adagrad");
  const auto lookups = GENERATE(Lookups::one, Lookups::several);
  auto runtime = scheduled_runtime(3);
  const auto dense =
      train_sentences(runtime, OneDevice({DeviceType::cpu, 0}), {optimizer_named(name), lookups, Grain::fused, false});
  const auto sparse = train_sentences(runtime, with_servers(ConsistencyRule::synchronous(2), 2),
                                      {optimizer_named(name), lookups, Grain::fused, true});
  REQUIRE(sparse.losses.size() == dense.losses.size());
  for (std::size_t i = 0; i < dense.losses.size(); ++i)
    CHECK(sparse.losses[i] == Approx(dense.losses[i]).epsilon(1e-5));
}

TEST_CASE("rows are looked up by workers that do not wait for each other, too") {
  const auto rule = GENERATE(ConsistencyRule::asynchronous(3), ConsistencyRule::bounded(3, 1),
                             ConsistencyRule::compensated(3, 0.04), ConsistencyRule::with_backup(3, 1));
  const int shards = GENERATE(1, 3);
  CAPTURE(rule.quorum, rule.staleness, shards);
  const auto strategy = with_servers(rule, 2, {fixed_shards(shards), Placement::fewest_elements});
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    auto runtime = scheduled_runtime(seed);
    Trainer trainer(runtime, strategy, sentence_model(Lookups::several, true), Sgd{.lr = 0.2}, SoftmaxCrossEntropy{},
                    {.seed = 5});
    const auto result = trainer.fit(sentences(9), {.epochs = 4});
    CHECK(result.rows == 160);
    CHECK(result.epochs.back().training.loss < result.epochs.front().training.loss);
    for (const auto& [staleness, count] : result.staleness.applied) CHECK(staleness <= rule.staleness);
  }
}

TEST_CASE("a model of tables alone is trained by every rule") {
  const auto rule =
      GENERATE(ConsistencyRule::synchronous(3), ConsistencyRule::asynchronous(3), ConsistencyRule::with_backup(3, 1));
  const auto model = [](const Inputs& inputs) -> Outputs {
    const auto table = inputs.builder().row_sparse_parameter("table", {13, 4}, Initializer::normal(0.3));
    const auto first = reshape(slice(inputs["x"], 1, 0, 1), {kBatch});
    return gather(table, first);
  };
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto strategy = with_servers(rule, 2, {fixed_shards(3), Placement::round_robin});
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.2}, SoftmaxCrossEntropy{}, {.seed = 5});
    const auto result = trainer.fit(sentences(9), {.epochs = 4});
    CHECK(result.epochs.back().training.loss < result.epochs.front().training.loss);
  }
}

TEST_CASE("a worker that fails while others look rows up ends the run with its own failure") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto rule = seed % 2 == 0 ? ConsistencyRule::asynchronous(3) : ConsistencyRule::synchronous(3);
    const auto strategy = with_servers(rule, 2, {fixed_shards(seed % 3 == 0 ? 1 : 2), Placement::round_robin});
    auto data = sentences(9);
    const Tensor bad({40}, DType::int32);
    for (std::size_t i = 0; i < 40; ++i) bad.mutable_data<std::int32_t>()[i] = i == 23 ? 9 : 1;
    Trainer trainer(runtime, strategy, sentence_model(Lookups::several, true), Sgd{.lr = 0.2},
                    SoftmaxCrossEntropy{.labels = "bad"}, {.seed = 5});
    CHECK_THROWS_WITH(trainer.fit(data.with_field("bad", bad), {.epochs = 1}),
                      Contains("[softmax_cross_entropy] label 9"));
  }
}

TEST_CASE("a table is cut into as many shards as the partitioner says") {
  const Setting setting{Sgd{.lr = 0.1}, Lookups::several};
  CHECK(row_shards_in(with_servers(ConsistencyRule::synchronous(2), 2), setting) == 2);
  CHECK(row_shards_in(with_servers(ConsistencyRule::synchronous(2), 3, {fixed_shards(3)}), setting) == 6);
  CHECK(row_shards_in(with_servers(ConsistencyRule::synchronous(2), 3),
                      {Sgd{.lr = 0.1}, Lookups::several, Grain::fused, false}) == 0);
}

TEST_CASE("a number that is no row is refused by name, no actor waits for more, and parameters stay whole") {
  const bool on_threads = GENERATE(false, true);
  const int workers = GENERATE(1, 2), shards = GENERATE(1, 2);
  auto runtime = on_threads ? Runtime({.workers = 2, .cpu_devices = 2}) : scheduled_runtime(1);
  const Tensor words({8, 3}, DType::int32), labels({8}, DType::int32);
  std::ranges::fill(words.mutable_data<std::int32_t>(), 3);
  std::ranges::fill(labels.mutable_data<std::int32_t>(), 1);
  words.mutable_data<std::int32_t>()[13] = 13;
  const auto data = Dataset::from_arrays({{"x", words}, {"y", labels}}).batch(8);
  const auto strategy = with_servers(ConsistencyRule::asynchronous(workers), 2, {fixed_shards(shards)});
  // A wait for more would exceed the time limit of the test.
  Trainer trainer(runtime, strategy, sentence_model(Lookups::one, true), Sgd{.lr = 0.1}, SoftmaxCrossEntropy{},
                  {.seed = 5, .stall_limit = std::chrono::hours(1)});
  CHECK_THROWS_WITH(trainer.fit(data, {.epochs = 1}),
                    Contains("[words] index 13") && Contains("is not one of the 13 rows"));
  CHECK(trainer.parameters().broken().empty());
}

TEST_CASE("optimizers that need more than the rows of a step are refused") {
  const auto refused = [](const Optimizer& optimizer, int servers, const std::string& why) {
    auto runtime = scheduled_runtime(0);
    const Setting setting{optimizer};
    CHECK_THROWS_WITH(train_sentences(runtime, with_servers(ConsistencyRule::synchronous(2), servers), setting),
                      Contains(why));
  };
  refused(Lamb{}, 1, "[lamb] takes the size of a whole parameter");
  refused(Optimizer(Sgd{}).accumulating(2), 1, "[optimizer] accumulates or averages in every step");
  refused(Optimizer(Sgd{}).averaging(0.9), 1, "[optimizer] accumulates or averages in every step");
  refused(Sgd{.clip_norm = 1.0}, 1, "[optimizer] clips at the norm of all gradients");
}
