// Updates by gradients that are accumulated over several steps.

#include "troupe/strategies/local_sgd.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/strategies/training/one_weight.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("rows weigh the same in an accumulated update, in every strategy") {
  const std::vector<float> g{0, 0, 0, 0, 0, 0, 8, 8};
  for (const auto& strategy : synchronous()) {
    auto runtime = scheduled_runtime(8, 2);
    Trainer trainer(runtime, *strategy, times("w"), Optimizer(Sgd{.lr = 1.0}).accumulating(3), kRowLoss);
    CHECK(trainer.fit(numbers(g, 3)).accumulated_steps == 0);
    CHECK(value_of(trainer.parameters(), "w") == -2.0F);
  }
  // A worker's change is weighted by the rows of its updates, not by those of the steps of a round.
  for (const std::int64_t local_steps : {1, 2, 3, 4, 8}) {
    auto runtime = scheduled_runtime(8, 2);
    const LocalSgd local(places_of(cpu_devices(2)), {Place{}}, {.local_steps = local_steps});
    Trainer trainer(runtime, local, times("w"), Optimizer(Sgd{.lr = 1.0}).accumulating(3), kRowLoss);
    trainer.fit(numbers(g, 3));
    CHECK(value_of(trainer.parameters(), "w") == Approx(-2.0F));
  }
  const ParameterServer asynchronous({{}}, {Place{}}, ConsistencyRule::asynchronous(1));
  auto runtime = scheduled_runtime(8, 2);
  Trainer trainer(runtime, asynchronous, times("w"), Optimizer(Sgd{.lr = 1.0}).accumulating(3), kRowLoss);
  trainer.fit(numbers(g, 3));
  CHECK(value_of(trainer.parameters(), "w") == -2.0F);
}

TEST_CASE("a worker of local SGD whose part is empty begins and ends accumulated updates nevertheless") {
  // The last of three batches has one row, of worker 0: it begins the second update and ends the third.
  const std::vector<float> g{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const LocalSgd strategy(places_of(cpu_devices(2)), {Place{}}, {.local_steps = 12});
  auto runtime = scheduled_runtime(10, 2);
  Trainer trainer(runtime, strategy, times("w"), Optimizer(Sgd{.lr = 1.0}).accumulating(2), kRowLoss);
  for (int epoch = 0; epoch < 2; ++epoch) CHECK_NOTHROW(trainer.fit(numbers(g, 4), {.max_steps = 3}));
  // The rows of each worker's updates. A fit ends a round, after which the worker has the mean of both copies, weighted
  // by the rows of the updates.
  const auto mean = [](std::initializer_list<float> rows) {
    float sum = 0.0F;
    for (const auto row : rows) sum += row;
    return sum / static_cast<float>(rows.size());
  };
  const float first0 = mean({1, 2, 5, 6}), first1 = mean({3, 4, 7, 8});
  const float second0 = mean({9, 1, 2}) + mean({5, 6, 9}), second1 = mean({3, 4}) + mean({7, 8});
  const float first = (first0 + first1) / 2.0F, second = (6.0F * second0 + 4.0F * second1) / 10.0F;
  CHECK(value_of(trainer.parameters(), "w") == Approx(-first - second));
}

TEST_CASE("a fit that ends within an update keeps its gradients for the next fit, and says so") {
  auto runtime = scheduled_runtime(9);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, times("w"), Optimizer(Sgd{.lr = 1.0}).accumulating(2), kRowLoss);
  const auto data = numbers({1, 2, 3, 4}, 1);
  CHECK(trainer.fit(data, {.max_steps = 3}).accumulated_steps == 1);
  CHECK(trainer.fit(data, {.max_steps = 0}).accumulated_steps == 1);
  CHECK(value_of(trainer.parameters(), "w") == -1.5F);
  CHECK(trainer.fit(data, {.max_steps = 1}).accumulated_steps == 0);
  CHECK(value_of(trainer.parameters(), "w") == -5.0F);
}

TEST_CASE("each trainer of a store accumulates gradients of its own, in every strategy") {
  auto strategies = synchronous();
  strategies.push_back(
      std::make_shared<LocalSgd>(places_of(cpu_devices(2)), std::vector<Place>{{}}, LocalSgdOptions{.local_steps = 1}));
  for (const auto& strategy : strategies) {
    auto runtime = scheduled_runtime(11, 2);
    const auto store = std::make_shared<ParameterStore>();
    const auto make = [&](const char* name) {
      return std::make_unique<Trainer>(runtime, *strategy, times("w"), Optimizer(Sgd{.lr = 1.0}).accumulating(2),
                                       kRowLoss, TrainerOptions{.parameters = store, .name = name});
    };
    const auto first = make(""), second = make("second");
    // Each pair of rows is a batch.
    first->fit(numbers({1, 1}, 2));
    second->fit(numbers({10, 10}, 2));
    CHECK(value_of(*store, "w") == 0.0F);
    first->fit(numbers({3, 3}, 2));
    CHECK(value_of(*store, "w") == -2.0F);
    second->fit(numbers({30, 30}, 2));
    CHECK(value_of(*store, "w") == -22.0F);
  }
}

TEST_CASE("a sum of gradients is not used after another number of steps has made updates") {
  auto runtime = scheduled_runtime(12);
  const OneDevice strategy;
  const auto store = std::make_shared<ParameterStore>();
  const auto fit = [&](std::int64_t steps, const std::vector<float>& g) {
    Trainer trainer(runtime, strategy, times("w"), Optimizer(Sgd{.lr = 1.0}).accumulating(steps), kRowLoss,
                    {.parameters = store, .name = "w"});
    trainer.fit(numbers(g, 1));
    return value_of(*store, "w");
  };
  CHECK(fit(2, {4, 4}) == -4.0F);
  CHECK(fit(1, {1}) == -5.0F);
  // Step 3 ends an update whose first step was an update of its own.
  CHECK(fit(2, {2}) == -7.0F);
  // Steps 4 and 5 begin an update of three that step 6 would not end.
  CHECK(fit(3, {100, 3}) == -7.0F - 51.5F);
}
