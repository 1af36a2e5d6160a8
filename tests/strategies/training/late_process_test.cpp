// An evaluation of two processes, one of which is alive but does not report its last steps in time.

#include <future>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/shared_training.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::uint64_t kSeed = 3;

/// Computes the part of rank 1 in an evaluation by a Trainer, but reports nothing until `may_end` is ready.
void evaluate_without_report(const std::shared_ptr<Cluster>& cluster, const Runtime& runtime, const Strategy& strategy,
                             std::shared_future<void> may_end) {
  const auto store = std::make_shared<ParameterStore>(kSeed);
  auto spec = small_spec();
  spec.optimizer = Sgd{.lr = 0.1, .momentum = 0.5};
  spec.loss = SoftmaxCrossEntropy{};
  SharedTraining shared(cluster, strategy, {store}, patience());
  const auto data = shared.share(data_of_50());
  MetricsLog log(2, spec, data.fields());
  auto plan = in_grain(strategy.evaluation_plan({spec, data, kSeed, log.sink_inputs()}), Grain::fused);
  SpawnContext context;
  context.store = store;
  context.sources.emplace("data", data);
  context.tasks.emplace("metrics", log.sink(NonFiniteLoss::stop));
  shared.agree_on_values();
  SpawnedPlan spawned({runtime, context}, std::move(plan), cluster);
  log.exchange_with(std::make_unique<MetricsExchange>(*cluster, spawned.generation()), {false, true});
  spawned.start({.max_steps = kLastStep});
  spawned.wait();
  may_end.wait();
}

}  // namespace

TEST_CASE("an evaluation fails by name if a process does not report its last steps in time") {
  const auto address = new_address();
  std::promise<void> rank_0_has_ended;
  const auto may_end = rank_0_has_ended.get_future().share();
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    if (rank == 1) return evaluate_without_report(cluster, runtime, strategy, may_end);
    struct Release {
      ~Release() { promise.set_value(); }
      std::promise<void>& promise;
    } const release{rank_0_has_ended};
    TrainerOptions options{.seed = kSeed, .cluster = cluster};
    options.stall_limit = std::chrono::seconds(5);
    auto trainer = small_trainer(runtime, strategy, options);
    trainer.evaluate(data_of_50());
  });
  // On a machine that is very busy, the run itself may pass the limit.
  CHECK_THAT(ends[0],
             Contains("[evaluate] the last steps have not been reported by process 1") || Contains("[watchdog]"));
  CHECK(ends[1].empty());
}
