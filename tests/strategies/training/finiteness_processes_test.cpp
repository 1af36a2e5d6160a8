// The decision whether losses and gradients are finite, over several processes, which are threads here, each with a
// runtime and a cluster of its own.

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

using Hook = std::shared_ptr<const GradientHook>;
using StrategyOf = std::function<std::unique_ptr<Strategy>(Cluster&)>;

struct ProcessStrategy {
  std::string name;
  int processes;
  StrategyOf make;
};

/// Two replicas, or two workers and a server in a process of its own.
ProcessStrategy mirrored_over_two(const std::string& hook) {
  const auto make = [hook](Cluster& cluster) -> std::unique_ptr<Strategy> {
    return std::make_unique<MultiWorkerMirrored>(cluster, cpu_devices(1),
                                                 MirroredOptions{.hook = gradient_hook_of(hook)});
  };
  return {"mirrored " + hook, 2, make};
}
ProcessStrategy server_and_two(const std::string& hook) {
  const auto make = [hook](Cluster&) -> std::unique_ptr<Strategy> {
    return std::make_unique<ParameterServer>(std::vector<Place>{{1, {}}, {2, {}}}, std::vector<Place>{{0, {}}},
                                             ConsistencyRule::synchronous(2),
                                             ServerOptions{.hook = gradient_hook_of(hook)});
  };
  return {"server " + hook, 3, make};
}

/// The batches of two rows, with 6 numbers each. The second row of batch `failing` has a NaN; none has one if `failing`
/// is negative, and batch `left_out` is missing.
Dataset batches(int failing, int left_out = -1) {
  std::vector<float> g;
  for (int batch = 0; batch < 4; ++batch) {
    if (batch == left_out) continue;
    for (int i = 0; i < 12; ++i) g.push_back(static_cast<float>((batch * 12 + i) * 7 % 11) - 5.0F);
    if (batch == failing) g.back() = std::numeric_limits<float>::quiet_NaN();
  }
  return Dataset::from_arrays({{"g", Tensor::from<float>({static_cast<std::int64_t>(g.size() / 6), 6}, g)}}).batch(2);
}

Outputs loss_of_row(const Inputs& in) {
  const auto w = in.builder().parameter("w", {6, 4}, Initializer::normal(1.0));
  return reduce_sum(sigmoid(matmul(in["g"], w)), {1});
}

struct Trained {
  std::string hash;
  std::int64_t steps = 0, skipped = 0, rows = 0;

  bool operator==(const Trained&) const = default;
};

/// Trains in all processes for one epoch. Returns the results by process.
std::vector<Trained> train(const ProcessStrategy& of, const Dataset& data, NonFiniteLoss on_non_finite, Ends& ends) {
  const auto address = new_address();
  std::vector<Trained> results(static_cast<std::size_t>(of.processes));
  ends = on_processes(of.processes, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, of.processes, address));
    Runtime runtime({.workers = 1, .cpu_devices = of.processes});
    const auto strategy = of.make(*cluster);
    Trainer trainer(runtime, *strategy, loss_of_row, Sgd{.lr = 0.1},
                    [](const Outputs& outputs, const Inputs&) { return outputs[""]; }, {.seed = 3, .cluster = cluster});
    const auto fit = trainer.fit(data, {.on_non_finite_loss = on_non_finite});
    const auto& training = fit.epochs.at(0).training;
    results[static_cast<std::size_t>(rank)] = {trainer.parameters().hash(), training.steps, training.skipped_steps,
                                               training.rows};
    cluster->leave();
  });
  return results;
}

std::vector<ProcessStrategy> all_strategies() {
  std::vector<ProcessStrategy> all;
  for (const auto* hook : {"none", "top_k:0.2", "power_sgd:1"}) {
    all.push_back(mirrored_over_two(hook));
    all.push_back(server_and_two(hook));
  }
  return all;
}

}  // namespace

TEST_CASE("a step that fails in one process is left out in all, with the states of hooks") {
  for (const auto& of : all_strategies()) {
    CAPTURE(of.name);
    Ends ends;
    const auto skipped = train(of, batches(1), NonFiniteLoss::skip, ends);
    CHECK(ends == Ends(ends.size()));
    const auto without = train(of, batches(-1, 1), NonFiniteLoss::stop, ends);
    CHECK(ends == Ends(ends.size()));
    for (const auto& result : skipped) {
      CHECK(result == Trained{without.front().hash, 4, 1, 6});
    }
  }
}

TEST_CASE("a step that fails in one process ends a fit in all processes that does not leave it out") {
  for (const auto& of : {mirrored_over_two("none"), server_and_two("top_k:0.2")}) {
    CAPTURE(of.name);
    Ends ends;
    train(of, batches(2), NonFiniteLoss::stop, ends);
    for (const auto& end : ends) CHECK_THAT(end, Contains("is not finite") && Contains("step 2"));
  }
}
