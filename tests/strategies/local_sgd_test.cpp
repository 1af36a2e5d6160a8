#include "troupe/strategies/local_sgd.hpp"

#include <future>
#include <utility>

#include "troupe/ops/library/reshape.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Outcome train_local(Runtime& runtime, const LocalSgd& strategy, Grain grain, const Optimizer& optimizer) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3, .grain = grain}, optimizer);
  Outcome outcome;
  trainer.fit(data_of_50(),
              {.epochs = 3, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash(0);
  return outcome;
}

LocalSgd local(int workers, int servers, std::int64_t steps, const Optimizer& outer = Sgd{.lr = 1.0}) {
  return {places_of(cpu_devices(workers)), std::vector<Place>(static_cast<std::size_t>(servers)), {steps, outer}};
}

/// A model whose loss is w x for the parameter w, which begins at 0.
Outputs times_w(const Inputs& in) {
  return mul(in["x"], in.builder().parameter("w", {1}, Initializer::zeros()));
}

Value loss_of_row(const Outputs& outputs, const Inputs&) {
  return reshape(outputs[""], {kBatch});
}

}  // namespace

TEST_CASE("with one local step the mean of the workers' parameters is what a mirrored strategy comes to") {
  const int workers = GENERATE(1, 2, 3);
  const int servers = GENERATE(1, 2);
  const Optimizer optimizer = Sgd{.lr = 0.1};
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto mirrored = train(runtime, Mirrored(cpu_devices(workers)), data_of_50(), Grain::fused, 3, optimizer);
    const auto averaged = train_local(runtime, local(workers, servers, 1), Grain::fused, optimizer);
    REQUIRE(averaged.losses.size() == mirrored.losses.size());
    for (std::size_t i = 0; i < mirrored.losses.size(); ++i)
      CHECK_THAT(averaged.losses[i], Catch::Matchers::WithinRel(mirrored.losses[i], 1e-4));
  }
}

TEST_CASE("several local steps come to the same bits for any schedule, grain and number of servers") {
  const bool momentum = GENERATE(false, true);
  const Optimizer outer = momentum ? Sgd{.lr = 0.7, .momentum = 0.9, .nesterov = true} : Sgd{.lr = 1.0};
  auto first = scheduled_runtime(0);
  const auto expected = train_local(first, local(3, 1, 3, outer), Grain::fused, Adam{.lr = 0.01});
  CHECK(expected.losses.back() < expected.losses.front());
  for (std::uint64_t seed = 1; seed <= schedules(9); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto grain = seed % 2 == 0 ? Grain::fused : Grain::per_op;
    CHECK(train_local(runtime, local(3, 1 + static_cast<int>(seed % 3), 3, outer), grain, Adam{.lr = 0.01}) ==
          expected);
  }
}

TEST_CASE("a step without rows is no update of the worker's optimizer state") {
  auto runtime = scheduled_runtime(0);
  const auto strategy = local(3, 1, 2);
  auto trainer = small_trainer(runtime, strategy, {.seed = 3}, Adam{.lr = 0.01});
  trainer.fit(data_of_50());
  int states = 0;
  for (const auto& entry : trainer.parameters().entries())
    for (int worker = 0; worker < 3; ++worker) {
      if (!entry.name.ends_with("/worker" + std::to_string(worker) + "/adam/updates")) continue;
      ++states;
      // The last of four batches has two rows, none of them for worker 2.
      CHECK(trainer.parameters().get(entry.name).item<float>() == (worker == 2 ? 3.0F : 4.0F));
    }
  CHECK(states > 0);
}

TEST_CASE("a step without rows ends an update of several steps") {
  // Worker 1 has a row of the first batch of an update, and none of the second one.
  const auto data = Dataset::from_arrays({{"x", Tensor::from<float>({3, 1}, std::vector<float>{1.0F, 2.0F, 4.0F})}});
  auto runtime = scheduled_runtime(0);
  const auto strategy = local(2, 1, 2);
  Trainer trainer(runtime, strategy, times_w, Optimizer(Sgd{.lr = 1.0}).accumulating(2), loss_of_row);
  // The first worker has the gradients 1 and 4, the other one 2. The copies are weighted by rows.
  trainer.fit(data.batch(2), {.epochs = 1});
  CHECK(trainer.parameters().get("w").item<float>() == Approx(-(2.0 * 2.5 + 1.0 * 2.0) / 3.0));
  trainer.fit(data.batch(2), {.epochs = 1});
  CHECK(trainer.parameters().get("w").item<float>() == Approx(-2.0 * (2.0 * 2.5 + 1.0 * 2.0) / 3.0));
}

TEST_CASE("the outer optimizer and the optimizer of another strategy keep states apart") {
  const auto data = Dataset::from_arrays({{"x", Tensor::from<float>({2, 1}, std::vector<float>{1.0F, 1.0F})}}).batch(2);
  auto runtime = scheduled_runtime(0);
  const auto store = std::make_shared<ParameterStore>();
  const DiLoCo local(places_of(cpu_devices(2)), {Place{}}, 1, 1.0, 0.5);
  const Mirrored mirrored(cpu_devices(2));
  const auto fit = [&](const Strategy& strategy, const Optimizer& optimizer) {
    Trainer trainer(runtime, strategy, times_w, optimizer, loss_of_row, {.parameters = store});
    trainer.fit(data);
    return store->get("w").item<float>();
  };
  const Optimizer momentum = Sgd{.lr = 1.0, .momentum = 0.5};
  CHECK(fit(mirrored, momentum) == -1.0F);
  // Nesterov's step of a velocity that begins with this change of 1 is 1.5.
  CHECK(fit(local, Sgd{.lr = 1.0}) == -2.5F);
  CHECK(fit(mirrored, momentum) == -4.0F);
  CHECK(store->get("w/velocity").item<float>() == 1.5F);
  CHECK(store->get("w/outer/velocity").item<float>() == 1.0F);
}

TEST_CASE("the outer optimizer averages the common parameters") {
  const auto data = Dataset::from_arrays({{"x", Tensor::from<float>({2, 1}, std::vector<float>{1.0F, 1.0F})}}).batch(2);
  auto runtime = scheduled_runtime(0);
  const auto strategy = local(2, 1, 1, Optimizer(Sgd{.lr = 1.0}).averaging(0.5));
  Trainer trainer(runtime, strategy, times_w, Sgd{.lr = 1.0}, loss_of_row);
  trainer.fit(data);
  trainer.fit(data);
  CHECK(trainer.parameters().get("w").item<float>() == -2.0F);
  CHECK(trainer.parameters().get("w/average").item<float>() == -1.25F);
}

TEST_CASE("a fit that is given up after a round of fewer steps goes on behind these") {
  const Runtime runtime({.workers = 1, .cpu_devices = 2});
  const auto strategy = local(2, 1, 8);
  const auto data = Dataset::from_arrays({{"x", Tensor::from<float>({40, 1}, std::vector<float>(40, 1.0F))}}).batch(2);
  Trainer trainer(runtime, strategy, times_w, Sgd{.lr = 1.0}, loss_of_row);
  {
    std::promise<void> over;
    const auto run = trainer.start(data, {.max_steps = 3});
    run->on_progress([&, told = false]() mutable {
      if (!std::exchange(told, true)) over.set_value();
    });
    REQUIRE(over.get_future().wait_for(patience()) == std::future_status::ready);
  }
  CHECK(trainer.parameters().position().step == 3);
  CHECK(trainer.parameters().position().batch == 3);
}

TEST_CASE("the states of workers need whole runs, because they are ahead of the common parameters in a round") {
  auto runtime = scheduled_runtime(0);
  const auto strategy = local(2, 1, 3);
  auto trainer = small_trainer(runtime, strategy, {}, Sgd{.lr = 0.1, .momentum = 0.5});
  int states = 0;
  for (const auto& actor : trainer.training_plan(data_of_50()).actors)
    if (actor.task.kind == "local_shard")
      for (const auto& state : actor.parameters) {
        CHECK(state.needs_whole_run);
        ++states;
      }
  CHECK(states > 0);
}

TEST_CASE("optimizers that do not suit local steps are refused") {
  const auto refusal = [](const LocalSgd& strategy, const Optimizer& optimizer) {
    auto runtime = scheduled_runtime(0);
    auto trainer = small_trainer(runtime, strategy, {}, optimizer);
    try {
      trainer.training_plan(data_of_50());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Optimizer plain = Sgd{.lr = 1.0};
  const Optimizer clipped = Sgd{.lr = 1.0, .clip_norm = 1.0};
  CHECK(refusal(local(2, 1, 1, clipped), plain).empty());
  CHECK_THAT(refusal(local(2, 2, 1, clipped), plain), Contains("[outer optimizer] clips at the norm of all gradients"));
  CHECK(refusal(local(2, 1, 1), plain.averaging(0.5)) ==
        "[local_sgd] the optimizer averages the parameters of each worker, not the common parameters; give averaging() "
        "to the optimizer LocalSgdOptions::outer");
  const auto all = [](const std::string&) { return true; };
  CHECK_THAT(refusal(local(2, 1, 1, plain.frozen(all)), plain),
             Contains("[local_sgd] the outer optimizer freezes '") && Contains("give frozen() to the optimizer of"));
}

TEST_CASE("workers without a local step are refused") {
  CHECK_THROWS_WITH(local(2, 1, 0), Contains("[local_sgd] needs at least one local step, not 0"));
}
