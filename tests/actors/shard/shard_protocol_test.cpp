// Shards, workers and a dispatcher that exchange messages which arrive in any order, except for two from the same
// sender.

#include "troupe/actors/shard/shard_protocol.hpp"

#include <deque>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

constexpr int kSteps = 120;

struct Setting {
  ConsistencyRule rule;
  int shards = 1;
  /// All shards but the first do what that one does.
  bool led = false;
  std::uint64_t seed = 0;
  /// So many of the workers are lost at some moment.
  int losses = 0;
};

/// What a shard has done: how often gradients were applied with which staleness, how many were dropped; and how often
/// the gradient of a step was applied.
struct Counted {
  std::map<std::int64_t, int> applied;
  int dropped = 0;
  std::map<int, int> times;
};

class Simulation {
 public:
  explicit Simulation(const Setting& setting)
      : setting_(setting),
        random_(setting.seed),
        workers_(static_cast<std::size_t>(setting.rule.workers)),
        losses_left_(setting.losses) {
    for (int i = 0; i < setting.shards; ++i) {
      const bool follows = setting.led && i > 0;
      shards_.push_back(
          {ShardProtocol(setting.rule, follows ? ShardProtocol::Mode::follows : ShardProtocol::Mode::decides)});
      shards_.back().protocol.begin(0, 0);
      shards_.back().of.resize(workers_.size());
    }
    counted_.resize(shards_.size());
  }

  /// True if it has come to its end: every shard is through with every ticket.
  bool run() {
    while (true) {
      std::vector<std::function<void()>> possible;
      for (int w = 0; w < setting_.rule.workers; ++w) add_moves_of_worker(w, possible);
      for (auto& shard : shards_) add_moves_of_shard(shard, possible);
      if (possible.empty()) return next_ == kSteps && again_.empty() && open_.empty();
      possible[random_() % possible.size()]();
    }
  }

  const std::vector<Counted>& counted() const { return counted_; }
  std::vector<ShardEvent> events(int shard) const { return shards_[static_cast<std::size_t>(shard)].events; }

 private:
  struct Ticket {
    int number;
    int step;
  };
  /// What a shard has of a worker.
  struct OfWorker {
    std::deque<Ticket> coming;  // from the dispatcher
    int gradients = 0;          // on their way from the worker
    bool loss_coming = false, lost = false;
    std::deque<Ticket> turns;
    bool answered = false, arrived = false;  // the oldest turn
  };
  struct Shard {
    ShardProtocol protocol;
    std::vector<OfWorker> of = {};
    std::deque<ShardEvent> from_leader = {};
    std::vector<ShardEvent> events = {};
    std::set<int> finished = {};
    bool told_end = false;
  };
  struct Worker {
    std::deque<int> tickets;
    std::map<int, int> answers;  // by ticket
    bool lost = false;
  };
  /// A ticket that some shards are not through with.
  struct Open {
    int step;
    int shards;
    bool refused = false;
  };

  void add_moves_of_worker(int w, std::vector<std::function<void()>>& possible) {
    auto& worker = workers_[static_cast<std::size_t>(w)];
    if (worker.lost) return;
    // One that it computes and one ahead.
    if ((next_ < kSteps || !again_.empty()) && worker.tickets.size() < 2)
      possible.push_back([&, w] { give_ticket(w); });
    if (losses_left_ > 0 && random_() % 20 == 0) possible.push_back([&, w] { lose(w); });
    if (worker.tickets.empty() || worker.answers[worker.tickets.front()] < setting_.shards) return;
    // The last worker is slow.
    const int likely = w + 1 == setting_.rule.workers ? 1 : 4;
    for (int i = 0; i < likely; ++i) possible.push_back([&, w] { compute(w); });
  }

  void give_ticket(int w) {
    const auto step = again_.empty() ? next_++ : *again_.begin();
    again_.erase(step);
    const auto ticket = tickets_++;
    workers_[static_cast<std::size_t>(w)].tickets.push_back(ticket);
    open_[ticket] = {step, setting_.shards};
    for (auto& shard : shards_) shard.of[static_cast<std::size_t>(w)].coming.push_back({ticket, step});
  }

  void compute(int w) {
    auto& worker = workers_[static_cast<std::size_t>(w)];
    worker.tickets.pop_front();
    for (auto& shard : shards_) ++shard.of[static_cast<std::size_t>(w)].gradients;
  }

  /// What is on its way to each of the shards may arrive or not.
  void lose(int w) {
    --losses_left_;
    workers_[static_cast<std::size_t>(w)].lost = true;
    for (auto& shard : shards_) {
      auto& of = shard.of[static_cast<std::size_t>(w)];
      if (of.gradients > 0 && random_() % 2 == 0) --of.gradients;
      of.loss_coming = true;
    }
  }

  void add_moves_of_shard(Shard& shard, std::vector<std::function<void()>>& possible) {
    // That the last ticket was given is known at once where updates need several workers, else when all are done.
    bool none_to_come =
        next_ == kSteps && again_.empty() && (setting_.led || setting_.rule.quorum > 1 || open_.empty());
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      auto& of = shard.of[w];
      none_to_come = none_to_come && of.coming.empty();
      if (!of.coming.empty()) possible.push_back([&, w] { take_ticket(shard, w); });
      if (of.gradients > 0 && !of.arrived) possible.push_back([&, w] { take_gradient(shard, w); });
      if (of.gradients == 0 && of.loss_coming) possible.push_back([&, w] { take_loss(shard, w); });
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

  void take_ticket(Shard& shard, std::size_t w) {
    auto& of = shard.of[w];
    const auto ticket = of.coming.front();
    of.coming.pop_front();
    of.turns.push_back(ticket);
    if (!shard.protocol.pulled(static_cast<int>(w), ticket.number, !shard.finished.contains(ticket.step))) {
      of.turns.pop_back();
      finish(ticket, true);
    }
    advance(shard);
  }

  void take_gradient(Shard& shard, std::size_t w) {
    --shard.of[w].gradients;
    shard.of[w].arrived = true;
    shard.protocol.pushed(static_cast<int>(w));
    advance(shard);
  }

  void take_loss(Shard& shard, std::size_t w) {
    auto& of = shard.of[w];
    of.loss_coming = false;
    of.lost = true;
    shard.protocol.lost(static_cast<int>(w));
    while (of.turns.size() > (of.answered ? 1u : 0u)) {
      finish(of.turns.back(), true);
      of.turns.pop_back();
    }
    advance(shard);
  }

  /// A shard is through with a ticket.
  void finish(const Ticket& ticket, bool refused) {
    auto& open = open_.at(ticket.number);
    open.refused = open.refused || refused;
    if (--open.shards > 0) return;
    if (open.refused && !(setting_.led && next_ == kSteps)) again_.insert(open.step);
    open_.erase(ticket.number);
  }

  void advance(Shard& shard) {
    const auto number = static_cast<std::size_t>(&shard - shards_.data());
    while (const auto event = shard.protocol.next([](int) { return true; })) {
      shard.events.push_back(*event);
      for (const auto w : event->workers) carry_out(shard, event->kind, static_cast<std::size_t>(w));
      for (const auto staleness : shard.protocol.staleness()) {
        if (event->kind == ShardEvent::Kind::update) ++counted_[number].applied[staleness];
        if (event->kind == ShardEvent::Kind::drop) ++counted_[number].dropped;
      }
      if (!setting_.led || number > 0) continue;
      for (std::size_t other = 1; other < shards_.size(); ++other) shards_[other].from_leader.push_back(*event);
    }
  }

  void carry_out(Shard& shard, ShardEvent::Kind kind, std::size_t w) {
    auto& of = shard.of[w];
    if (of.turns.empty()) return;
    const auto ticket = of.turns.front();
    if (kind == ShardEvent::Kind::answer) {
      of.answered = true;
      ++workers_[w].answers[ticket.number];
      return;
    }
    if (!std::exchange(of.answered, false)) return;
    of.turns.pop_front();
    if (of.arrived) shard.finished.insert(ticket.step);
    if (of.arrived && kind == ShardEvent::Kind::update)
      ++counted_[static_cast<std::size_t>(&shard - shards_.data())].times[ticket.step];
    finish(ticket, !std::exchange(of.arrived, false));
  }

  const Setting setting_;
  std::mt19937_64 random_;
  std::vector<Shard> shards_;
  std::vector<Worker> workers_;
  std::vector<Counted> counted_;
  std::map<int, Open> open_;
  std::set<int> again_;
  int next_ = 0, tickets_ = 0;
  int losses_left_;
};

/// Runs it with many seeds: it must come to its end, apply or drop each gradient once, and keep to the bound.
void check(const ConsistencyRule& rule, int shards, bool led, int losses = 0) {
  CAPTURE(rule.workers, rule.quorum, rule.staleness, shards, led, losses);
  int missing = 0, twice = 0, stale = 0, stuck = 0, unlike = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Simulation simulation({rule, shards, led, seed, losses});
    stuck += !simulation.run();
    for (const auto& counted : simulation.counted()) {
      int all = counted.dropped;
      for (const auto& [staleness, count] : counted.applied) {
        all += count;
        stale += staleness > rule.staleness;
      }
      for (const auto& [step, times] : counted.times) twice += times > 1;
      // Where gradients are dropped those of a lost worker may be, too.
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

TEST_CASE("whatever comes when: every gradient is applied or dropped once, within the bound, and nothing gets stuck") {
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
