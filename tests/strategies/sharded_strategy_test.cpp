#include "troupe/strategies/sharded_strategy.hpp"

#include "troupe/examples/custom_strategies/gossip_ring.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Places on the first core of some processes.
std::vector<Place> on_cores_of(std::initializer_list<int> processes) {
  std::vector<Place> places;
  for (const int process : processes) places.push_back({process, {DeviceType::cpu, 0}});
  return places;
}

/// The elements that the small model's parameters take on each of two servers, in processes 1 and 2. A parameter's size
/// in a block is a multiple of 16.
std::vector<std::int64_t> elements_of_servers(Placement placement) {
  ParameterServer strategy(on_cores_of({0}), on_cores_of({1, 2}), ConsistencyRule::synchronous(1));
  strategy.set_sharding({unpartitioned(), placement});
  const auto plan = strategy.training_plan({small_spec(), data_of_50(), 0, {}});
  std::vector<std::int64_t> elements(2);
  for (const auto& actor : plan.actors)
    if (actor.task.kind == "shard")
      elements.at(static_cast<std::size_t>(actor.place.process) - 1) += actor.outputs.front().info.shape.elements();
  return elements;
}

}  // namespace

TEST_CASE("processes that have workers alone are expendable where a step is of one worker") {
  const auto workers = on_cores_of({0, 1, 1, 2, 3});
  ParameterServer strategy(workers, on_cores_of({3}), ConsistencyRule::asynchronous(5));
  CHECK(strategy.expendable() == std::set{1, 2});
  CHECK(strategy.forward_places() == on_cores_of({0, 3}));
  strategy.set_forward_places(on_cores_of({2}));
  CHECK(strategy.expendable() == std::set{1});
  CHECK(strategy.forward_places() == on_cores_of({2}));
  const ParameterServer together(workers, on_cores_of({3}), ConsistencyRule::synchronous(5));
  CHECK(together.expendable().empty());
  CHECK(together.forward_places() == workers);
}

TEST_CASE("evaluation runs in process 0 where all workers may be lost") {
  const ParameterServer strategy(on_cores_of({1, 2}), on_cores_of({0}), ConsistencyRule::asynchronous(2));
  CHECK(strategy.expendable() == std::set{1, 2});
  CHECK(strategy.forward_places() == on_cores_of({0}));
}

// The backward pass makes gradients of 16, 2, 96 and 8 elements, in this order.
TEST_CASE("parameters go to the servers in turn, or each to the server with the fewest elements so far") {
  CHECK(elements_of_servers(Placement::round_robin) == std::vector<std::int64_t>{16 + 96, 16 + 16});
  CHECK(elements_of_servers(Placement::fewest_elements) == std::vector<std::int64_t>{16 + 16, 16 + 96});
}

TEST_CASE("a strategy without servers, or with a rule for other workers, is refused by name") {
  const auto two = on_cores_of({0, 0});
  CHECK_THROWS_WITH(ParameterServer(two, {}, ConsistencyRule::synchronous(2)),
                    "[parameter_server] needs at least one server");
  CHECK_THROWS_WITH(ParameterServer(two, two, ConsistencyRule::synchronous(3)),
                    "[parameter_server] the rule is for 3 workers, but there are 2");
  CHECK_THROWS_WITH(ParameterServer(two, two, ConsistencyRule::bounded(2, -1)), Contains("staleness"));
}

TEST_CASE("a user's sharded strategy whose only replica exchanges with itself has the bits of one device") {
  auto runtime = scheduled_runtime(3);
  const auto one = train(runtime, OneDevice(), data_of_50(), Grain::fused);
  CHECK(train(runtime, GossipRing(places_of(cpu_devices(1))), data_of_50(), Grain::fused) == one);
}

TEST_CASE("replicas of a user's sharded strategy learn apart, the same for every schedule") {
  std::vector<std::string> hashes;
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const GossipRing strategy(places_of(cpu_devices(3)));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    const auto result = trainer.fit(data_of_50(), {.epochs = 3});
    CHECK(result.epochs[2].training.loss < result.epochs[0].training.loss);
    for (int replica = 0; replica < 3; ++replica) hashes.push_back(trainer.parameters().hash(replica));
  }
  CHECK(hashes[0] != hashes[1]);
  for (std::size_t i = 3; i < hashes.size(); ++i) CHECK(hashes[i] == hashes[i - 3]);
}
