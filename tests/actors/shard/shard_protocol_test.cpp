// Shards, workers and a dispatcher that exchange messages which arrive in any order, except for two from the same
// sender.

#include "troupe/actors/shard/shard_protocol.hpp"

#include <deque>
#include <random>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

constexpr int kTickets = 120;

struct Setting {
  ConsistencyRule rule;
  int shards = 1;
  /// All shards but the first do what that one does.
  bool led = false;
  std::uint64_t seed = 0;
};

/// How often gradients were applied with which staleness, and how many were dropped, by shard.
struct Counted {
  std::map<std::int64_t, int> applied;
  int dropped = 0;
};

class Simulation {
 public:
  explicit Simulation(const Setting& setting)
      : setting_(setting), random_(setting.seed), workers_(static_cast<std::size_t>(setting.rule.workers)) {
    for (int i = 0; i < setting.shards; ++i) {
      const bool follows = setting.led && i > 0;
      shards_.push_back(
          {ShardProtocol(setting.rule, follows ? ShardProtocol::Mode::follows : ShardProtocol::Mode::decides)});
      shards_.back().protocol.begin(0, 0);
      shards_.back().from_worker.resize(workers_.size());
      shards_.back().from_dispatcher.resize(workers_.size());
    }
  }

  /// The number of tickets whose gradients were made.
  int run() {
    while (true) {
      std::vector<std::function<void()>> possible;
      for (int w = 0; w < setting_.rule.workers; ++w) add_moves_of_worker(w, possible);
      for (auto& shard : shards_) add_moves_of_shard(shard, possible);
      if (possible.empty()) return done_;
      possible[random_() % possible.size()]();
    }
  }

  const std::vector<Counted>& counted() const { return counted_; }
  std::vector<ShardEvent> events(int shard) const { return shards_[static_cast<std::size_t>(shard)].events; }

 private:
  struct Shard {
    ShardProtocol protocol;
    std::vector<std::deque<int>> from_dispatcher;  // tickets, by worker
    std::vector<std::deque<int>> from_worker;      // gradients, by worker
    std::deque<ShardEvent> from_leader;
    std::vector<ShardEvent> events;
    bool told_end = false;
  };
  struct Worker {
    std::deque<int> tickets;
    int answers = 0;  // for the first of them
  };

  void add_moves_of_worker(int w, std::vector<std::function<void()>>& possible) {
    auto& worker = workers_[static_cast<std::size_t>(w)];
    // One that it computes and one ahead.
    if (next_ < kTickets && worker.tickets.size() < 2) possible.push_back([&, w] { give_ticket(w); });
    if (worker.answers < setting_.shards) return;
    // The last worker is slow.
    const int likely = w + 1 == setting_.rule.workers ? 1 : 4;
    for (int i = 0; i < likely; ++i) possible.push_back([&, w] { compute(w); });
  }

  void give_ticket(int w) {
    workers_[static_cast<std::size_t>(w)].tickets.push_back(next_);
    for (auto& shard : shards_) shard.from_dispatcher[static_cast<std::size_t>(w)].push_back(next_);
    ++next_;
  }

  void compute(int w) {
    auto& worker = workers_[static_cast<std::size_t>(w)];
    worker.tickets.pop_front();
    worker.answers = 0;
    ++done_;
    for (auto& shard : shards_) shard.from_worker[static_cast<std::size_t>(w)].push_back(0);
  }

  void add_moves_of_shard(Shard& shard, std::vector<std::function<void()>>& possible) {
    bool none_to_come = next_ == kTickets;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (!shard.from_dispatcher[w].empty())
        possible.push_back([&shard, w, this] {
          shard.protocol.pulled(static_cast<int>(w), shard.from_dispatcher[w].front());
          shard.from_dispatcher[w].pop_front();
          advance(shard);
        });
      none_to_come = none_to_come && shard.from_dispatcher[w].empty();
      if (!shard.from_worker[w].empty())
        possible.push_back([&shard, w, this] {
          shard.from_worker[w].pop_front();
          shard.protocol.pushed(static_cast<int>(w));
          advance(shard);
        });
    }
    if (!shard.from_leader.empty())
      possible.push_back([&shard, this] {
        shard.protocol.follow(shard.from_leader.front());
        shard.from_leader.pop_front();
        advance(shard);
      });
    if (none_to_come && !shard.told_end)
      possible.push_back([&shard, this] {
        shard.told_end = true;
        shard.protocol.tickets_ended();
        advance(shard);
      });
  }

  void advance(Shard& shard) {
    counted_.resize(shards_.size());
    const auto number = static_cast<std::size_t>(&shard - shards_.data());
    while (const auto event = shard.protocol.next([](int) { return true; })) {
      shard.events.push_back(*event);
      if (event->kind == ShardEvent::Kind::answer) ++workers_[static_cast<std::size_t>(event->workers.front())].answers;
      for (const auto staleness : shard.protocol.staleness()) {
        if (event->kind == ShardEvent::Kind::update) ++counted_[number].applied[staleness];
        if (event->kind == ShardEvent::Kind::drop) ++counted_[number].dropped;
      }
      if (!setting_.led || number > 0) continue;
      for (std::size_t other = 1; other < shards_.size(); ++other) shards_[other].from_leader.push_back(*event);
    }
  }

  const Setting setting_;
  std::mt19937_64 random_;
  std::vector<Shard> shards_;
  std::vector<Worker> workers_;
  std::vector<Counted> counted_;
  int next_ = 0, done_ = 0;
};

/// Runs it with many seeds: it must come to its end, apply or drop each gradient once, and keep to the bound.
void check(const ConsistencyRule& rule, int shards, bool led) {
  CAPTURE(rule.workers, rule.quorum, rule.staleness, shards, led);
  int lost = 0, stale = 0, stuck = 0, unlike = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Simulation simulation({rule, shards, led, seed});
    stuck += simulation.run() != kTickets;
    for (const auto& counted : simulation.counted()) {
      int all = counted.dropped;
      for (const auto& [staleness, count] : counted.applied) {
        all += count;
        stale += staleness > rule.staleness;
      }
      lost += all != kTickets;
    }
    for (int shard = 1; led && shard < shards; ++shard) unlike += simulation.events(shard) != simulation.events(0);
  }
  CHECK(stuck == 0);
  CHECK(lost == 0);
  CHECK(stale == 0);
  CHECK(unlike == 0);
}

}  // namespace

TEST_CASE("whatever comes when: every gradient is applied or dropped once, within the bound, and nothing gets stuck") {
  const int workers = GENERATE(1, 2, 4, 7);
  const int shards = GENERATE(1, 2, 3);
  check(ConsistencyRule::synchronous(workers), shards, false);
  check(ConsistencyRule::asynchronous(workers), shards, false);
  for (const int staleness : {0, 1, 2, 3, 6, 10}) check(ConsistencyRule::bounded(workers, staleness), shards, false);
  for (int backup = 0; backup < workers; ++backup) check(ConsistencyRule::with_backup(workers, backup), shards, true);
}

TEST_CASE("the bound is reached, but only by those that are slow") {
  std::map<std::int64_t, int> applied;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Simulation simulation({ConsistencyRule::bounded(4, 5), 1, false, seed});
    simulation.run();
    for (const auto& [staleness, count] : simulation.counted()[0].applied) applied[staleness] += count;
  }
  CHECK(applied.rbegin()->first == 5);
  CHECK(applied[0] > 0);
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
  CHECK_THROWS_WITH(ConsistencyRule::compensated(2, -0.5).check(), Contains("compensation must not be negative"));
}

TEST_CASE("a gradient that nobody asked for, and a ticket for two, are refused") {
  ShardProtocol protocol(ConsistencyRule::asynchronous(2));
  protocol.begin(0, 0);
  CHECK_THROWS_WITH(protocol.pushed(1), Contains("worker 1 sent a gradient that nobody has asked for"));
  protocol.pulled(0, 5);
  CHECK_THROWS_WITH(protocol.pulled(1, 5), Contains("ticket 5 was given to two workers"));
}
