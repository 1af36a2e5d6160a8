// Parameters that only actors of other processes, or of other parts, hold: every process has them after a fit.

#include <memory>

#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/central_storage.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr const char* kStrategies[] = {"server", "storage", "local", "server of rank 0", "replica"};

/// A strategy of two processes, of which one alone holds the parameters: process 1, or rank 0 if the name says so.
std::unique_ptr<Strategy> strategy_named(const std::string& name) {
  const Place first{0, {DeviceType::cpu, 0}}, second{1, {DeviceType::cpu, 0}};
  const std::vector<Place> both{first, second};
  if (name == "server")
    return std::make_unique<ParameterServer>(both, std::vector{second}, ConsistencyRule::synchronous(2));
  if (name == "storage") return std::make_unique<CentralStorage>(both, second);
  if (name == "local") return std::make_unique<LocalSgd>(both, std::vector{second}, LocalSgdOptions{.local_steps = 3});
  if (name == "server of rank 0")
    return std::make_unique<ParameterServer>(std::vector{first}, std::vector{first}, ConsistencyRule::asynchronous(1));
  return std::make_unique<Mirrored>(std::vector{second});
}

/// A text of everything that a trainer's store shows of its parameters and states.
std::string shown(const Trainer& trainer) {
  std::string text;
  for (const auto& [name, value] : trainer.parameter_arrays()) text += name + " " + to_string(value) + "\n";
  for (const auto& entry : trainer.parameters().entries()) {
    const auto value = trainer.parameters().get(entry.name);
    text += entry.name + ":";
    for (const auto element : value.data<float>()) text += " " + std::to_string(element);
    text += "\n";
  }
  return text;
}

/// The values that each of two processes shows before its first step, and after a fit.
struct Shown {
  std::string before, after;
  std::size_t arrays = 0;
};

}  // namespace

TEST_CASE("every process has the trained parameters and the states after a fit, wherever they were trained") {
  for (const std::string name : kStrategies) {
    INFO(name);
    const auto address = new_address();
    std::vector<Shown> all(2);
    const auto ends = on_processes(2, [&](int rank) {
      const auto cluster = join_cluster(options_of(rank, 2, address));
      Runtime runtime({.workers = 1, .cpu_devices = 1});
      const auto strategy = strategy_named(name);
      auto trainer = small_trainer(runtime, *strategy, {.seed = 3, .cluster = cluster});
      auto& process = all[static_cast<std::size_t>(rank)];
      trainer.fit(data_of_50(), {.max_steps = 0});
      process.before = shown(trainer);
      trainer.fit(data_of_50());
      process.after = shown(trainer);
      process.arrays = trainer.parameter_arrays().size();
      cluster->leave();
    });
    CHECK(ends == Ends(2));
    CHECK(all[0].arrays == 4);
    CHECK(all[0].before == all[1].before);
    CHECK(all[0].after == all[1].after);
    CHECK(all[0].after != all[0].before);
    CHECK_THAT(all[0].after, Contains("velocity"));
  }
}

TEST_CASE("the first part has parameters, states and buffers of another part after a fit") {
  for (const std::string name : kStrategies) {
    INFO(name);
    auto runtime = scheduled_runtime(3, 2);
    const auto strategy = strategy_named(name);
    const Model plain = Sequential{Flatten{}, Dense{2}}, with_buffers = Sequential{Flatten{}, BatchNorm{}, Dense{2}};
    Trainer trainer(runtime, *strategy, name == "replica" ? with_buffers : plain, Sgd{.lr = 0.1, .momentum = 0.5},
                    SoftmaxCrossEntropy{}, {.seed = 3, .other_parts = {scheduled_runtime(4, 2)}});
    trainer.fit(data_of_50());
    const auto trained = shown(trainer);
    CHECK(trainer.parameter_arrays().size() == (name == "replica" ? 6 : 2));
    const auto loss = trainer.evaluate(data_of_50()).loss;
    CHECK(shown(trainer) == trained);
    CHECK(trainer.evaluate(data_of_50()).loss == loss);
  }
}

TEST_CASE("a fit that an exception ends has the position of the part that trains") {
  for (const std::string name : kStrategies) {
    INFO(name);
    auto runtime = scheduled_runtime(3, 2);
    const auto strategy = strategy_named(name);
    auto trainer = small_trainer(runtime, *strategy, {.seed = 3, .other_parts = {scheduled_runtime(4, 2)}});
    for (std::int64_t fits = 1; fits <= 2; ++fits) {
      const auto on_step = [](const StepMetrics&) { throw std::runtime_error("the disk is full"); };
      CHECK_THROWS_WITH(trainer.fit(data_of_50(), {.max_steps = 1, .on_step = on_step}), Contains("the disk is full"));
      CHECK(trainer.steps() == fits);
    }
    // The third step of four, the last of the epoch.
    CHECK(trainer.fit(data_of_50()).steps == 2);
  }
}

TEST_CASE("a start value of another shape fails the fit in every process, also in one that does not train") {
  const auto address = new_address();
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 1});
    const auto strategy = strategy_named("replica");
    auto trainer = small_trainer(runtime, *strategy, {.seed = 3, .cluster = cluster});
    trainer.set_parameters({{"dense1.bias", Tensor::from<float>({1}, std::vector{1.0F})}});
    trainer.fit(data_of_50());
  });
  for (const auto& end : ends) CHECK_THAT(end, Contains("was set to"));
}
