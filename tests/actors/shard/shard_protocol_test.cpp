#include "troupe/actors/shard/shard_protocol.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/actors/shard/shard_simulation.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Simulates with many seeds: every simulation must end, apply or drop each gradient once, and keep to the bound.
void check(const ConsistencyRule& rule, int shards, bool led, int losses = 0) {
  CAPTURE(rule.workers, rule.quorum, rule.staleness, shards, led, losses);
  int missing = 0, twice = 0, stale = 0, stuck = 0, unlike = 0;
  for (std::uint64_t seed = 0; seed < schedules(200); ++seed) {
    ShardSimulation simulation({rule, shards, led, seed, losses});
    stuck += !simulation.run();
    for (const auto& counted : simulation.counted()) {
      int all = counted.dropped;
      for (const auto& [staleness, count] : counted.applied) {
        all += count;
        stale += staleness > rule.staleness;
      }
      for (const auto& [step, times] : counted.times) twice += times > 1;
      // With dropped gradients, those of a lost worker may be missing.
      missing += led && losses > 0 ? all > kSteps : all != kSteps;
    }
    for (int shard = 1; led && shard < shards; ++shard) unlike += simulation.events(shard) != simulation.events(0);
  }
  CHECK(stuck == 0);
  CHECK(missing == 0);
  CHECK(twice == 0);
  CHECK(stale == 0);
  CHECK(unlike == 0);
}

}  // namespace

TEST_CASE("in any order of messages every gradient is applied or dropped once, within the bound, and none gets stuck") {
  const int workers = GENERATE(1, 2, 4, 7);
  const int shards = GENERATE(1, 2, 3);
  check(ConsistencyRule::synchronous(workers), shards, false);
  check(ConsistencyRule::asynchronous(workers), shards, false);
  for (const int staleness : {0, 1, 2, 3, 6, 10}) check(ConsistencyRule::bounded(workers, staleness), shards, false);
  for (int backup = 0; backup < workers; ++backup) check(ConsistencyRule::with_backup(workers, backup), shards, true);
}

TEST_CASE("workers that are lost: the others apply each batch once, within the bound, and nothing gets stuck") {
  const int workers = GENERATE(2, 4, 7);
  const int shards = GENERATE(1, 2, 3);
  const int losses = GENERATE(1, 2, 5);
  if (losses >= workers) return;
  check(ConsistencyRule::asynchronous(workers), shards, false, losses);
  for (const int staleness : {0, 1, 2, 3, 6, 10})
    check(ConsistencyRule::bounded(workers, staleness), shards, false, losses);
  for (int backup = 0; backup < workers; ++backup)
    check(ConsistencyRule::with_backup(workers, backup), shards, true, losses);
}

TEST_CASE("the bound is reached, but only by those that are slow") {
  std::map<std::int64_t, int> applied;
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    ShardSimulation simulation({ConsistencyRule::bounded(4, 5), 1, false, seed});
    simulation.run();
    for (const auto& [staleness, count] : simulation.counted()[0].applied) applied[staleness] += count;
  }
  CHECK(applied.rbegin()->first == 5);
  CHECK(applied[0] > 0);
}

TEST_CASE("requests are answered in sequence only where fewer gradients than workers can be in flight") {
  const int workers = 3;
  const auto always = [](int) { return true; };
  for (const int staleness : {0, 1, 2, 3}) {
    CAPTURE(staleness);
    const bool all_in_flight = staleness >= workers - 1;
    ShardProtocol protocol(ConsistencyRule::bounded(workers, staleness));
    protocol.begin(0, 0);
    protocol.requested(1, 1);
    const auto early = protocol.next(always);
    CHECK(early.has_value() == all_in_flight);
    if (early) CHECK(early->workers == std::vector<int>{1});
    protocol.requested(0, 0);
    const auto first = protocol.next(always);
    REQUIRE(first);
    CHECK(first->workers == std::vector<int>{0});
  }
}

TEST_CASE("rules out of range are refused by name") {
  CHECK_THROWS_WITH(ConsistencyRule::bounded(2, -1).check(), Contains("staleness must not be negative, it is -1"));
  CHECK_THROWS_WITH((ConsistencyRule{.workers = 2, .quorum = 3}.check()),
                    Contains("an update needs 3 gradients, but there are 2 workers"));
  CHECK_THROWS_WITH(ConsistencyRule::with_backup(2, 2).check(), Contains("of at least one worker, not 0"));
  CHECK_THROWS_WITH(ConsistencyRule::with_backup(2, -1), Contains("backup workers must not be negative, it is -1"));
  CHECK_THROWS_WITH(ConsistencyRule::synchronous(0).check(), Contains("needs at least one worker"));
  CHECK_THROWS_WITH((ConsistencyRule{.workers = 3, .quorum = 2, .staleness = 1}.check()),
                    Contains("must drop the late ones"));
  CHECK_THROWS_WITH(ConsistencyRule::compensated(2, -0.5).check(),
                    Contains("compensation must be finite and not negative"));
}

TEST_CASE("a gradient that was not requested, and a sequence number of two workers, are refused") {
  ShardProtocol protocol(ConsistencyRule::asynchronous(2));
  protocol.begin(0, 0);
  CHECK_THROWS_WITH(protocol.pushed(1), Contains("worker 1 sent a gradient that was not requested"));
  protocol.requested(0, 5);
  CHECK_THROWS_WITH(protocol.requested(1, 5), Contains("sequence number 5 was given to two workers"));
}
