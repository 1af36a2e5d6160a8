// Strategies with shards over processes, which are threads here, each with a runtime and a cluster of its own.

#include <mutex>

#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/server_places.hpp"
#include "troupe/tests/strategies/row_sparse_model.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

using Roles = std::vector<ProcessRole>;
constexpr auto kAny = ProcessRole::any, kChief = ProcessRole::chief, kServer = ProcessRole::server,
               kWorker = ProcessRole::worker, kEvaluator = ProcessRole::evaluator;

struct Result {
  Outcome outcome;
  FitResult fit;
  double evaluated = 0.0;
};

/// A model and its data.
struct Training {
  Model model = small_spec().model;
  Dataset data = data_of_50();
};

using MakeStrategy = std::function<std::unique_ptr<Strategy>(const ServerPlaces& places)>;

std::unique_ptr<Strategy> parameter_server(const ServerPlaces& places, const ConsistencyRule& rule) {
  auto strategy = std::make_unique<ParameterServer>(places.workers, places.servers, rule);
  strategy->set_forward_places(places.evaluators);
  return strategy;
}

MakeStrategy synchronous() {
  return [](const ServerPlaces& places) {
    return parameter_server(places, ConsistencyRule::synchronous(static_cast<int>(places.workers.size())));
  };
}

MakeStrategy asynchronous() {
  return [](const ServerPlaces& places) {
    return parameter_server(places, ConsistencyRule::asynchronous(static_cast<int>(places.workers.size())));
  };
}

/// Returns the results of all processes. `on_step` is called with the rank.
std::vector<Result> train_in_roles(const Roles& roles, int workers, int servers, const MakeStrategy& make, Ends& ends,
                                   const std::function<void(int rank, const StepMetrics&)>& on_step = {},
                                   const Training& training = {}) {
  const auto address = new_address();
  const auto processes = static_cast<int>(roles.size());
  std::vector<Result> results(roles.size());
  ends = on_processes(processes, [&](int rank) {
    auto options = options_of(rank, processes, address);
    options.job.role = roles[static_cast<std::size_t>(rank)];
    const auto cluster = join_cluster(options);
    Runtime runtime({.workers = 1, .cpu_devices = processes * workers});
    const auto strategy = make(server_places(*cluster, cpu_devices(workers), servers));
    Trainer trainer(runtime, *strategy, training.model, Sgd{.lr = 0.1, .momentum = 0.5}, SoftmaxCrossEntropy{},
                    {.seed = 3, .cluster = cluster});
    auto& result = results[static_cast<std::size_t>(rank)];
    result.fit = trainer.fit(training.data, {.epochs = 2, .on_step = [&](const StepMetrics& step) {
                                               result.outcome.losses.push_back(step.loss);
                                               if (on_step) on_step(rank, step);
                                             }});
    result.evaluated = trainer.evaluate(training.data).loss;
    if (!strategy->expendable().contains(rank)) result.outcome.hash = trainer.parameters().hash();
    cluster->leave();
  });
  return results;
}

std::vector<Result> train_in_roles(const Roles& roles, int workers, int servers, const MakeStrategy& make,
                                   const Training& training = {}) {
  Ends ends;
  auto results = train_in_roles(roles, workers, servers, make, ends, {}, training);
  CHECK(ends == Ends(roles.size()));
  for (const auto& result : results) {
    CHECK(result.evaluated == results.front().evaluated);
    CHECK(result.fit.steps == results.front().fit.steps);
    CHECK(result.fit.rows == results.front().fit.rows);
    // Expendable processes hold no parameters, and get no results.
    if (result.outcome.hash.empty()) continue;
    CHECK(result.outcome.losses == results.front().outcome.losses);
    CHECK(result.fit.staleness == results.front().fit.staleness);
    CHECK(result.outcome.hash == results.front().outcome.hash);
  }
  return results;
}

Outcome mirrored_in_one(int replicas) {
  Runtime runtime({.workers = 1, .cpu_devices = replicas});
  return train(runtime, Mirrored(cpu_devices(replicas)), data_of_50(), Grain::fused);
}

}  // namespace

TEST_CASE("processes with workers may each have devices of their own") {
  const auto address = new_address();
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    const auto devices_of = [](int local_rank) { return std::vector{Device{DeviceType::cuda, local_rank}, Device{}}; };
    const Device gpu0{DeviceType::cuda, 0}, gpu1{DeviceType::cuda, 1}, core0{DeviceType::cpu, 0},
        core2{DeviceType::cpu, 2};
    if (server_places(*cluster, devices_of, 1).workers !=
        std::vector<Place>{{0, gpu0}, {0, core0}, {1, gpu1}, {1, core2}})
      throw Error("test", "other places");
    cluster->leave();
  });
  CHECK(ends == Ends(2));
}

TEST_CASE("synchronous shards over processes come to the bits of a mirrored strategy in one") {
  const auto [roles, workers, servers, replicas] = GENERATE(
      std::tuple{Roles{kAny, kAny}, 1, 1, 2}, std::tuple{Roles{kAny, kAny}, 2, 2, 4},
      std::tuple{Roles{kAny, kAny, kAny}, 1, 2, 3}, std::tuple{Roles{kChief, kServer, kWorker, kWorker}, 1, 1, 2},
      std::tuple{Roles{kWorker, kWorker, kServer, kServer, kEvaluator}, 1, 2, 2});
  const auto results = train_in_roles(roles, workers, servers, synchronous());
  CHECK(results.front().outcome == mirrored_in_one(replicas));
}

TEST_CASE("parameters in parts, and rows that are looked up, over processes come to the bits of a mirrored strategy") {
  const auto [roles, workers, servers, replicas] =
      GENERATE(std::tuple{Roles{kAny, kAny}, 1, 1, 2}, std::tuple{Roles{kAny, kAny, kAny}, 1, 2, 3},
               std::tuple{Roles{kWorker, kWorker, kServer, kServer, kEvaluator}, 1, 2, 2});
  const std::int64_t shards = GENERATE(1, 3);
  const Training training{sentence_model(Lookups::several, true), sentences(16)};
  const auto make = [shards](const ServerPlaces& places) {
    const auto rule = ConsistencyRule::synchronous(static_cast<int>(places.workers.size()));
    const ServerOptions options{.sharding = {fixed_shards(shards), Placement::round_robin}};
    auto strategy = std::make_unique<ParameterServer>(places.workers, places.servers, rule, options);
    strategy->set_forward_places(places.evaluators);
    return strategy;
  };
  const auto results = train_in_roles(roles, workers, servers, make, training);
  Runtime runtime({.workers = 1, .cpu_devices = replicas});
  const Mirrored in_one(cpu_devices(replicas));
  Trainer trainer(runtime, in_one, training.model, Sgd{.lr = 0.1, .momentum = 0.5}, SoftmaxCrossEntropy{}, {.seed = 3});
  trainer.fit(training.data, {.epochs = 2});
  CHECK(results.front().outcome.hash == trainer.parameters().hash(0));
}

TEST_CASE("local steps over processes come to the bits of those in one") {
  const auto make = [](const ServerPlaces& places) {
    return std::make_unique<LocalSgd>(places.workers, places.servers, LocalSgdOptions{.local_steps = 3});
  };
  const auto results = train_in_roles({kAny, kAny, kAny}, 1, 2, make);
  Runtime runtime({.workers = 1, .cpu_devices = 3});
  const LocalSgd in_one(places_of(cpu_devices(3)), {Place{}, Place{}}, {.local_steps = 3});
  auto trainer = small_trainer(runtime, in_one, {.seed = 3});
  std::vector<double> losses;
  trainer.fit(data_of_50(), {.epochs = 2, .on_step = [&](const StepMetrics& step) { losses.push_back(step.loss); }});
  CHECK(results.front().outcome.losses == losses);
  CHECK(results.front().outcome.hash == trainer.parameters().hash(0));
}

TEST_CASE("workers in processes of their own that do not wait: each batch once") {
  const auto [roles, servers] = GENERATE(std::pair{Roles{kAny, kAny, kAny}, 1}, std::pair{Roles{kAny, kAny, kAny}, 2},
                                         std::pair{Roles{kChief, kServer, kServer, kWorker, kWorker, kWorker}, 2},
                                         std::pair{Roles{kWorker, kWorker, kWorker, kServer, kEvaluator}, 1});
  const auto results = train_in_roles(roles, 1, servers, asynchronous());
  const auto& fit = results.front().fit;
  CHECK(fit.steps == 18);
  CHECK(fit.rows == 100);
  CHECK(fit.staleness.gradients() == 18 * servers);
  CHECK(fit.epochs[1].training.loss < fit.epochs[0].training.loss);
}

TEST_CASE("roles that do not make a job are refused") {
  const auto refused = [](const Roles& roles, const std::string& why) {
    Ends ends;
    train_in_roles(roles, 1, 1, synchronous(), ends);
    for (const auto& end : ends) CHECK_THAT(end, Contains(why));
  };
  refused({kChief, kAny}, "process 1 has no role, but others have");
  refused({kChief, kWorker}, "no process has the role ps");
  refused({kChief, kServer}, "no process has the role worker");
}
