// The progress of trainers: update counts of parameters, steps, and positions in the data.

#include <cmath>
#include <limits>
#include <thread>

#include "troupe/actors/shard/update_count.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/strategies/central_storage.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/one_weight.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

/// The mean of g, which tells the batches of a data set apart.
Metric mean_of_g() {
  return {"g", [](const Outputs&, const Inputs& in) -> MetricSums {
            return {reduce_sum(in["g"], std::vector<std::int64_t>{0, 1})};
          }};
}

}  // namespace

TEST_CASE("a skipped step is no update for the bias corrections of Adam") {
  for (const auto& strategy : synchronous())
    for (const Optimizer& optimizer : {Optimizer(Adam{.lr = 1.0}), Optimizer(AdamW{.lr = 1.0, .weight_decay = 0.0})}) {
      auto runtime = scheduled_runtime(1, 2);
      Trainer trainer(runtime, *strategy, times("w", 1.0), optimizer, kRowLoss);
      trainer.fit(numbers({kMissing, kMissing, 1, 1}, 2), {.on_non_finite_loss = NonFiniteLoss::skip});
      CHECK(value_of(trainer.parameters(), "w") == Approx(0.0).margin(1e-6));
      CHECK(value_of(trainer.parameters(), "w/adam/updates") == 1.0F);
      CHECK(trainer.steps() == 2);
    }
}

TEST_CASE("an optimizer that begins on trained parameters begins its own count") {
  for (const auto& strategy : synchronous())
    for (const Optimizer& optimizer :
         {Optimizer(Adam{.lr = 0.125}), Optimizer(AdamW{.lr = 0.125, .weight_decay = 0})}) {
      auto runtime = scheduled_runtime(2, 2);
      Trainer first(runtime, *strategy, times("w"), Sgd{.lr = 0.0}, kRowLoss);
      first.fit(numbers(std::vector<float>(40, 1.0F), 2));
      Trainer second(runtime, *strategy, times("w"), optimizer, kRowLoss, {.parameters = first.shared_parameters()});
      second.fit(numbers({3, 3}, 2));
      CHECK(value_of(second.parameters(), "w") == Approx(-0.125));
    }
}

TEST_CASE("a parameter that was frozen has its own count") {
  auto runtime = scheduled_runtime(3);
  const OneDevice strategy;
  const auto model = [](const Inputs& in) -> Outputs {
    auto& builder = in.builder();
    return mul(in["g"], add(builder.parameter("head", {1}, Initializer::zeros()),
                            builder.parameter("body", {1}, Initializer::zeros())));
  };
  const Optimizer adam = Adam{.lr = 0.125};
  const auto is_body = [](const std::string& name) { return name == "body"; };
  Trainer first(runtime, strategy, model, adam.frozen(is_body), kRowLoss);
  first.fit(numbers(std::vector<float>(30, 1.0F), 2));
  Trainer second(runtime, strategy, model, adam, kRowLoss, {.parameters = first.shared_parameters()});
  second.fit(numbers({1, 1}, 2));
  CHECK(value_of(second.parameters(), "body") == Approx(-0.125));
}

TEST_CASE("shards of a parameter count its updates, and another strategy goes on from their count") {
  const auto places = places_of(cpu_devices(2));
  const Mirrored mirrored(places);
  const ParameterServer servers(places, {Place{}, Place{}}, ConsistencyRule::synchronous(2),
                                {.sharding = {fixed_shards(2), Placement::round_robin}});
  const auto hash_after = [&](const std::vector<const Strategy*>& strategies) {
    auto runtime = scheduled_runtime(4, 2);
    auto store = std::make_shared<ParameterStore>(3);
    for (const auto* strategy : strategies)
      small_trainer(runtime, *strategy, {.seed = 3, .parameters = store, .name = "one"}, Adam{.lr = 0.01})
          .fit(data_of_50());
    return store->hash();
  };
  const auto expected = hash_after({&mirrored, &mirrored, &mirrored});
  CHECK(hash_after({&servers, &servers, &servers}) == expected);
  CHECK(hash_after({&servers, &mirrored, &servers}) == expected);
  CHECK(hash_after({&mirrored, &servers, &mirrored}) == expected);
}

TEST_CASE("an epoch that was stopped goes on with the same data alone") {
  auto runtime = scheduled_runtime(5, 2);
  const OneDevice strategy;
  const auto a = numbers({0, 1, 2, 3}, 1);
  const auto steps_on = [&](const Dataset& next, std::uint64_t seed = 0) {
    auto store = std::make_shared<ParameterStore>();
    const auto trainer_with = [&](std::uint64_t its_seed) {
      return std::make_unique<Trainer>(runtime, strategy, times("w"), Sgd{}, kRowLoss,
                                       TrainerOptions{.seed = its_seed, .parameters = store, .name = "one"});
    };
    trainer_with(0)->fit(a, {.max_steps = 3});
    return trainer_with(seed)->fit(next).steps;
  };
  CHECK(steps_on(a) == 1);
  CHECK(steps_on(numbers({0, 1, 2, 3}, 1)) == 1);
  CHECK(steps_on(numbers({4, 5, 6, 7}, 1)) == 4);
  CHECK(steps_on(a.shuffle(4)) == 4);
  CHECK(steps_on(a, 1) == 4);
  CHECK(steps_on(a.batch(2)) == 2);
}

TEST_CASE("schedules of asynchronous servers go on at the trainer's step, also after parameters were set") {
  const auto places = places_of(cpu_devices(2));
  for (const auto& rule : {ConsistencyRule::synchronous(2), ConsistencyRule::asynchronous(2)}) {
    const ParameterServer servers(places, {Place{}}, rule);
    auto runtime = scheduled_runtime(4, 2);
    const auto fit = [&](const std::shared_ptr<ParameterStore>& store, std::int64_t steps) {
      Trainer trainer(runtime, servers, times("w"), Sgd{.lr = Schedule::from_table({1, 1, 1, 1, 0})}, kRowLoss,
                      {.parameters = store});
      trainer.fit(numbers(std::vector<float>(40, 1.0F), 2), {.max_steps = steps});
    };
    const auto first = std::make_shared<ParameterStore>(), next = std::make_shared<ParameterStore>();
    fit(first, 4);
    next->set_position(first->position());
    for (const auto& entry : first->entries()) next->set(entry.name, first->get(entry.name));
    fit(next, 3);
    CHECK(value_of(*next, "w") == -4.0F);
  }
}

TEST_CASE("a schedule of updates that are made of several steps goes on in the next run") {
  // Update n has the rate n + 1, and the gradient is 1.
  const auto rising = Schedule::from_ops([](Value step) { return step + 1.0F; });
  const auto sum_of_rates = [](std::int64_t updates) { return static_cast<float>(updates * (updates + 1) / 2); };
  const auto data = numbers(std::vector<float>(24, 1.0F), 3);
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    const ParameterServer backup(places_of(cpu_devices(3)), {Place{}, Place{}}, ConsistencyRule::with_backup(3, 1));
    auto runtime = scheduled_runtime(seed, 3);
    Trainer trainer(runtime, backup, times("w"), Sgd{.lr = rising}, kRowLoss);
    const auto steps = trainer.fit(data, {.epochs = 3, .pause_every = 5}).steps + trainer.fit(data).steps;
    const auto updates = UpdateCount::read(trainer.parameters().get(UpdateCount::kOfGradients)).updates;
    CHECK(updates > 0);
    CHECK(updates < steps);
    CHECK(value_of(trainer.parameters(), "w") == -sum_of_rates(updates));
  }
  // Each epoch of 8 steps ends with an exchange, in which the gradient of the common parameter is 8.
  auto runtime = scheduled_runtime(4, 2);
  const LocalSgd local(places_of(cpu_devices(2)), {Place{}}, {.local_steps = 100, .outer = Sgd{.lr = rising}});
  Trainer trainer(runtime, local, times("w"), Sgd{.lr = 1.0}, kRowLoss);
  trainer.fit(data, {.epochs = 3});
  CHECK(value_of(trainer.parameters(), "w") == -8.0F * sum_of_rates(3));
  const LocalSgd accumulating(places_of(cpu_devices(2)), {Place{}},
                              {.local_steps = 100, .outer = Optimizer(Sgd{.lr = 1.0}).accumulating(2)});
  Trainer second(runtime, accumulating, times("v"), Sgd{.lr = 1.0}, kRowLoss);
  second.fit(data, {.epochs = 4});
  CHECK(value_of(second.parameters(), "v") == -16.0F);
}

TEST_CASE("the count of updates on shards follows the trainer over servers, frozen parameters and strategies") {
  // Both parameters have the gradient 1, and update n has the rate n + 1. A fit makes 8 updates on asynchronous
  // servers.
  const auto rising = Schedule::from_ops([](Value step) { return step + 1.0F; });
  const auto data = numbers(std::vector<float>(8, 1.0F), 2);
  const Model model = [](const Inputs& in) -> Outputs {
    const auto parameter = [&](const char* name) { return in.builder().parameter(name, {1}, Initializer::zeros()); };
    return mul(in["g"], add(parameter("b"), parameter("a")));
  };
  const auto places = places_of(cpu_devices(2));
  const ParameterServer one(places, {Place{}}, ConsistencyRule::asynchronous(2));
  const ParameterServer two(places, {Place{}, Place{}}, ConsistencyRule::asynchronous(2));
  const Mirrored mirrored(places);
  const LocalSgd local(places, {Place{}}, {.local_steps = 4});
  auto runtime = scheduled_runtime(4, 2);
  const auto values_after = [&](const std::vector<std::pair<const Strategy*, Optimizer>>& fits, bool begins_anew) {
    const auto store = std::make_shared<ParameterStore>();
    for (const auto& [strategy, optimizer] : fits) {
      if (begins_anew) store->set_position({});
      Trainer trainer(runtime, *strategy, model, optimizer, kRowLoss, {.parameters = store, .name = "trainer"});
      trainer.fit(data);
    }
    return std::pair(value_of(*store, "a"), value_of(*store, "b"));
  };
  const Optimizer all = Sgd{.lr = rising};
  const auto without_b = all.frozen([](const std::string& name) { return name == "b"; });
  CHECK(values_after({{&one, all}, {&one, without_b}, {&one, all}}, false) == std::pair(-300.0F, -200.0F));
  CHECK(values_after({{&two, all}, {&one, all}, {&two, all}}, false) == std::pair(-300.0F, -300.0F));
  // Mirrored makes steps 8 to 11, LocalSgd also, each with the rate of the step.
  CHECK(values_after({{&one, all}, {&mirrored, all}, {&one, all}}, false) == std::pair(-210.0F, -210.0F));
  CHECK(values_after({{&one, all}, {&local, all}, {&one, all}}, false) == std::pair(-210.0F, -210.0F));
  CHECK(values_after({{&one, all}, {&one, all}}, true) == std::pair(-72.0F, -72.0F));
}

TEST_CASE("trainers on one store take turns, each at its own place in the data") {
  auto runtime = scheduled_runtime(6, 2);
  const OneDevice strategy;
  const auto data = numbers({0, 1, 2, 3}, 1);
  const auto store = std::make_shared<ParameterStore>();
  const TrainerOptions options{.parameters = store, .metrics = {{mean_of_g()}}};
  Trainer first(runtime, strategy, times("w"), Sgd{}, kRowLoss, options);
  Trainer second(runtime, strategy, times("w"), Sgd{}, kRowLoss, options);
  CHECK(first.name() == "trainer");
  CHECK(second.name() == "trainer_2");
  std::vector<double> batches;
  for (int turn = 0; turn < 4; ++turn)
    for (auto* trainer : {&first, &second})
      batches.push_back(trainer->fit(data, {.max_steps = 1}).epochs.at(0).training["g"]);
  CHECK(batches == std::vector<double>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(first.steps() == 4);
  CHECK(second.steps() == 4);
}

TEST_CASE("trainers of different parameters in one store train at the same time") {
  const Runtime runtime;
  const OneDevice strategy;
  const auto data = numbers(std::vector<float>(200, 1.0F), 1);
  const auto store = std::make_shared<ParameterStore>();
  const Schedule rate = Schedule::from_function([](std::int64_t step) { return step < 100 ? 1.0 : 0.0; }, 200);
  Trainer first(runtime, strategy, times("a"), Sgd{.lr = rate}, kRowLoss, {.parameters = store});
  Trainer second(runtime, strategy, times("b"), Sgd{.lr = rate}, kRowLoss, {.parameters = store});
  std::thread other([&] { second.fit(data, {.epochs = 2}); });
  first.fit(data, {.epochs = 2});
  other.join();
  CHECK(value_of(*store, "a") == -100.0F);
  CHECK(value_of(*store, "b") == -100.0F);
  CHECK(first.steps() == 400);
  CHECK(second.steps() == 400);
}

TEST_CASE("two trainers of one name are refused") {
  auto runtime = scheduled_runtime(7);
  const OneDevice strategy;
  const auto store = std::make_shared<ParameterStore>();
  const auto named = [&] {
    return std::make_unique<Trainer>(runtime, strategy, times("w"), Sgd{}, kRowLoss,
                                     TrainerOptions{.parameters = store, .name = "critic"});
  };
  {
    const auto first = named();
    CHECK_THROWS_WITH(named(), Contains("[trainer] another trainer on the same parameters is named 'critic'"));
  }
  CHECK_NOTHROW(named());
}

TEST_CASE("a parameter that the loss does not read stays, in every strategy") {
  const auto model = [](const Inputs& in) -> Outputs {
    auto& builder = in.builder();
    return {{"a", mul(in["g"], builder.parameter("a", {1}, Initializer::constant(1.0)))},
            {"b", mul(in["g"], builder.parameter("b", {1}, Initializer::constant(1.0)))}};
  };
  const auto loss = [](const Outputs& outputs, const Inputs&) { return reshape(outputs["a"], {kBatch}); };
  auto strategies = synchronous();
  const auto places = places_of(cpu_devices(2));
  strategies.push_back(std::make_shared<LocalSgd>(places, std::vector<Place>{{}}));
  strategies.push_back(
      std::make_shared<ParameterServer>(places, std::vector<Place>{{}}, ConsistencyRule::asynchronous(2)));
  for (const auto& strategy : strategies) {
    auto runtime = scheduled_runtime(10, 2);
    Trainer trainer(runtime, *strategy, model, AdamW{.lr = 0.1, .weight_decay = 0.5}, loss);
    trainer.fit(numbers({1, 1, 1, 1}, 2));
    CHECK(value_of(trainer.parameters(), "b") == 1.0F);
    CHECK(value_of(trainer.parameters(), "a") < 0.9F);
  }
}
