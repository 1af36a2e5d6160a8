// Fits that end before they are over: destroyed ones, and those that a failure or a stall ends in the middle of a step.

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/update_count.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/scheduled_parts.hpp"
#include "troupe/tests/strategies/training/one_weight.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kSteps = 12;

std::vector<Place> servers(int count) {
  return std::vector<Place>(static_cast<std::size_t>(count));
}

/// The hash of the parameters after kSteps steps, in which a fit is destroyed at a random moment if there is a seed.
std::string trained(const Strategy& strategy, std::optional<std::uint64_t> seed) {
  auto runtime = scheduled_runtime(seed.value_or(0), 2);
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  if (seed) {
    const auto run = trainer.start(data_of_50(), {.epochs = 2});
    run_some({{runtime, {}}}, *seed, 20 + 7 * *seed);
  }
  CHECK(trainer.parameters().broken().empty());
  CHECK(trainer.steps() < kSteps);
  trainer.fit(data_of_50(), {.epochs = 3, .max_steps = kSteps - trainer.steps()});
  return trainer.parameters().hash(0);
}

/// Passes the gradients on. At step 3 it throws, if `fails`.
class GradientActor final : public PortActor {
 public:
  GradientActor(caf::actor_config& config, bool fails) : PortActor(config), fails_(fails) {}

 private:
  void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    if (fails_ && step == 3) throw Error("test", "fails");
    outputs[0] = inputs[0].clone();
  }

  const bool fails_;
};

/// A model with two rows of a parameter, each of which has its shard in a part of its own.
struct TwoParts {
  ParameterServer strategy{{Place{}},
                           {Place{0, {}}, Place{1, {}}},
                           ConsistencyRule::synchronous(1),
                           {.sharding = {fixed_shards(2), Placement::round_robin}}};
  Model model = [](const Inputs& in) -> Outputs {
    return mul(in["g"], reshape(in.builder().parameter("w", {2}, Initializer::zeros()), {1, 2}));
  };
  Loss loss = [](const Outputs& outputs, const Inputs&) { return reduce_sum(outputs[""], {1}); };
};

/// Whether all elements of w are -`steps`.
bool is_trained(const Trainer& trainer, std::int64_t steps) {
  const auto w = trainer.parameters().get("w");
  return std::ranges::all_of(w.data<float>(), [&](float element) { return element == -static_cast<float>(steps); });
}

/// 200 rows of the number 1, in batches of 2. A fit stalls at row 90: the row waits until the run has been given up.
struct StallingData {
  std::promise<void> given_up;
  std::shared_future<void> is_given_up = given_up.get_future().share();
  Dataset data = Dataset::of_rows(200)
                     .with_function<float>("g", {1},
                                           [is_given_up = is_given_up](std::int64_t row, std::span<float> to) {
                                             if (row == 90) is_given_up.wait_for(patience());
                                             to[0] = 1.0F;
                                           })
                     .batch(2);
};

/// Fits until the fit stalls.
void stall(Trainer& trainer, StallingData& stalling) {
  const auto run = trainer.start(stalling.data);
  run->on_progress([&, told = false]() mutable {
    if (!std::exchange(told, true)) stalling.given_up.set_value();
  });
  CHECK_THROWS_WITH(run->wait(), Contains("no progress of"));
}
constexpr std::chrono::milliseconds kShortLimit{20};

}  // namespace

TEST_CASE("a destroyed fit ends at a step boundary, and the next one goes on to the same bits") {
  const auto workers = places_of(cpu_devices(2));
  const auto rule = ConsistencyRule::synchronous(2);
  const OneDevice one;
  const Mirrored mirrored(workers);
  const ParameterServer plain(workers, servers(2), rule);
  const ParameterServer hooked(workers, servers(2), rule, {.hook = std::make_shared<TopKGradients>(0.2)});
  const LocalSgd local(workers, servers(2), {1, Sgd{.lr = 0.7, .momentum = 0.9}});
  for (const auto* strategy : std::vector<const Strategy*>{&one, &mirrored, &plain, &hooked, &local}) {
    const auto expected = trained(*strategy, std::nullopt);
    for (std::uint64_t seed = 0; seed < schedules(40); ++seed) {
      INFO("seed " << seed);
      CHECK(trained(*strategy, seed) == expected);
    }
  }
}

TEST_CASE("a destroyed fit on servers in two parts leaves each part the rows of the other") {
  const TwoParts two;
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    INFO("seed " << seed);
    auto runtime = scheduled_runtime(seed, 1), other = scheduled_runtime(seed, 1);
    Trainer trainer(runtime, two.strategy, two.model, Sgd{.lr = 1.0}, two.loss, {.other_parts = {other}});
    const auto data = numbers(std::vector<float>(40, 1.0F), 2);
    {
      const auto run = trainer.start(data);
      run_some({{runtime, {}}, {other, {}}}, seed, 20 + 10 * seed);
    }
    trainer.fit(data, {.max_steps = 1});
    CHECK(is_trained(trainer, trainer.steps()));
  }
}

TEST_CASE("rows in two parts are broken after a fit that has stalled") {
  const TwoParts two;
  StallingData stalling;
  const Runtime runtime({.workers = 1}), other({.workers = 1});
  Trainer trainer(runtime, two.strategy, two.model, Sgd{.lr = 1.0}, two.loss,
                  {.stall_limit = kShortLimit, .other_parts = {other}});
  stall(trainer, stalling);
  // On a busy machine the fit may stall before its first step.
  const bool broken = !trainer.parameters().broken().empty();
  CHECK(broken == (trainer.steps() > 0));
  if (broken) CHECK_THROWS_WITH(trainer.fit(stalling.data), Contains("may be half-written"));
}

TEST_CASE("the parameters are broken if a fit has failed after some of its servers have made an update") {
  std::vector<bool> broken;
  for (const int count : {1, 2}) {
    auto runtime = scheduled_runtime(1, 2);
    int actors = 0;
    ServerOptions options;
    options.gradient_actor = [&](const TensorInfo& gradients, int worker) {
      // The last call is for the last server.
      const bool fails = ++actors == 2 * count;
      return external<GradientActor>("gradients@" + std::to_string(worker),
                                     {.inputs = {gradients}, .outputs = {gradients}}, fails);
    };
    const ParameterServer strategy(places_of(cpu_devices(2)), servers(count), ConsistencyRule::synchronous(2), options);
    auto trainer = small_trainer(runtime, strategy);
    CHECK_THROWS_WITH(trainer.fit(data_of_50()), Contains("fails"));
    broken.push_back(!trainer.parameters().broken().empty());
  }
  CHECK(broken == std::vector<bool>{false, true});
}

TEST_CASE("no step is made after a fit that has stalled has stored its position") {
  for (const auto& strategy : synchronous()) {
    StallingData stalling;
    const Runtime runtime({.workers = 2, .cpu_devices = 2});
    Trainer trainer(runtime, *strategy, times("w"), Sgd{.lr = 1.0}, kRowLoss, {.stall_limit = kShortLimit});
    stall(trainer, stalling);
    CHECK((!trainer.parameters().broken().empty() || is_trained(trainer, trainer.steps())));
  }
}

TEST_CASE("a fit may be destroyed on another thread than the one that has started its run") {
  Runtime runtime({.workers = 1, .cpu_devices = 2});
  const ParameterServer strategy(places_of(cpu_devices(2)), servers(1), ConsistencyRule::asynchronous(2));
  auto trainer = small_trainer(runtime, strategy);
  std::promise<void> over;
  auto run = trainer.start(data_of_50(), {.max_steps = 3});
  run->on_progress([&, told = false]() mutable {
    if (!std::exchange(told, true)) over.set_value();
  });
  REQUIRE(over.get_future().wait_for(patience()) == std::future_status::ready);
  std::async(std::launch::async, [&] { run.reset(); }).get();
  const auto& store = trainer.parameters();
  CHECK(trainer.steps() == 3);
  CHECK(UpdateCount::read(store.get(UpdateCount::kOfGradients)).step == 3);
}
