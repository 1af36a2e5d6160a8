#include "troupe/examples/custom_strategies/gossip_ring.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a user's strategy whose only replica exchanges with itself has the bits of one device") {
  auto runtime = scheduled_runtime(3);
  const auto one = train(runtime, OneDevice(), data_of_50(), Grain::fused);
  CHECK(train(runtime, GossipRing(places_of(cpu_devices(1))), data_of_50(), Grain::fused) == one);
}

TEST_CASE("replicas of a user's strategy learn apart, the same for every schedule") {
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
