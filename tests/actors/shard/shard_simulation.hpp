#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "troupe/actors/shard/shard_protocol.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe::testing {

inline constexpr int kSteps = 120;

/// The workers and shards of a training.
struct ShardSetting {
  ConsistencyRule rule;
  int shards = 1;
  /// All shards but the first follow the first.
  bool led = false;
  std::uint64_t seed = 0;
  /// Number of workers that are lost at some moment.
  int losses = 0;
};

/// What a shard has done: applied gradients by staleness, dropped gradients, and applied gradients by step.
struct Counted {
  std::map<std::int64_t, int> applied;
  int dropped = 0;
  std::map<int, int> times;
};

/// Shards, workers and a dispatcher whose messages arrive in any order, except for two from the same sender.
class ShardSimulation {
 public:
  explicit ShardSimulation(const ShardSetting& setting)
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

  /// Returns true if the simulation has ended: every shard has finished every request.
  bool run() {
    while (true) {
      possible_.clear();
      for (std::size_t w = 0; w < workers_.size(); ++w) add_moves_of_worker(w);
      for (std::size_t shard = 0; shard < shards_.size(); ++shard) add_moves_of_shard(shard);
      if (possible_.empty()) return next_ == kSteps && again_.empty() && open_.empty();
      const auto& [step, shard, w] = possible_[random_() % possible_.size()];
      (this->*step)(shards_[shard], w);
    }
  }

  const std::vector<Counted>& counted() const { return counted_; }
  std::vector<ShardEvent> events(int shard) const { return shards_[static_cast<std::size_t>(shard)].events; }

 private:
  struct Request {
    int number;  // sequence number
    int step;
  };
  /// State of a worker in a shard.
  struct OfWorker {
    std::deque<Request> coming;  // from the dispatcher
    int gradients = 0;           // on their way from the worker
    bool loss_coming = false, lost = false;
    std::deque<Request> requests;
    bool answered = false, arrived = false;  // the oldest request
  };
  struct Shard {
    ShardProtocol protocol;
    std::vector<OfWorker> of = {};
    std::deque<ShardEvent> from_leader = {};
    std::vector<ShardEvent> events = {};
    std::set<int> finished = {};
    bool ended = false;
  };
  struct Worker {
    std::deque<int> requests;    // sequence numbers
    std::map<int, int> answers;  // by sequence number
    bool lost = false;
  };
  /// A request that some shards have not finished.
  struct Open {
    int step;
    int shards;
    bool refused = false;
  };

  /// Something that may happen next: a function of the shard and the worker that take part in it.
  struct Move {
    void (ShardSimulation::*step)(Shard&, std::size_t w);
    std::size_t shard;
    std::size_t worker;
  };

  void add_moves_of_worker(std::size_t w) {
    auto& worker = workers_[w];
    if (worker.lost) return;
    // A worker has the current request and the next.
    if ((next_ < kSteps || !again_.empty()) && worker.requests.size() < 2)
      possible_.push_back({&ShardSimulation::give_request, 0, w});
    if (losses_left_ > 0 && random_() % 20 == 0) possible_.push_back({&ShardSimulation::lose, 0, w});
    if (worker.requests.empty() || worker.answers[worker.requests.front()] < setting_.shards) return;
    // The last worker is slow.
    const int likely = w + 1 == workers_.size() ? 1 : 4;
    for (int i = 0; i < likely; ++i) possible_.push_back({&ShardSimulation::compute, 0, w});
  }

  void give_request(Shard&, std::size_t w) {
    const auto step = again_.empty() ? next_++ : *again_.begin();
    again_.erase(step);
    const auto number = requests_++;
    workers_[w].requests.push_back(number);
    open_[number] = {step, setting_.shards};
    for (auto& shard : shards_) shard.of[w].coming.push_back({number, step});
  }

  void compute(Shard&, std::size_t w) {
    auto& worker = workers_[w];
    worker.answers.erase(worker.requests.front());
    worker.requests.pop_front();
    for (auto& shard : shards_) ++shard.of[w].gradients;
  }

  /// A gradient on its way to a shard may arrive or not.
  void lose(Shard&, std::size_t w) {
    --losses_left_;
    workers_[w].lost = true;
    for (auto& shard : shards_) {
      auto& of = shard.of[w];
      if (of.gradients > 0 && random_() % 2 == 0) --of.gradients;
      of.loss_coming = true;
    }
  }

  void add_moves_of_shard(std::size_t number) {
    auto& shard = shards_[number];
    // The end of the requests is known at once where updates need several workers, otherwise when all are finished.
    bool none_to_come =
        next_ == kSteps && again_.empty() && (setting_.led || setting_.rule.quorum > 1 || open_.empty());
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      const auto& of = shard.of[w];
      none_to_come = none_to_come && of.coming.empty();
      if (!of.coming.empty()) possible_.push_back({&ShardSimulation::take_request, number, w});
      if (of.gradients > 0 && !of.arrived) possible_.push_back({&ShardSimulation::take_gradient, number, w});
      if (of.gradients == 0 && of.loss_coming) possible_.push_back({&ShardSimulation::take_loss, number, w});
    }
    if (!shard.from_leader.empty()) possible_.push_back({&ShardSimulation::follow_leader, number, 0});
    if (none_to_come && !shard.ended) possible_.push_back({&ShardSimulation::end_requests, number, 0});
  }

  void follow_leader(Shard& shard, std::size_t) {
    shard.protocol.follow(shard.from_leader.front());
    shard.from_leader.pop_front();
    advance(shard);
  }

  void end_requests(Shard& shard, std::size_t) {
    shard.ended = true;
    shard.protocol.requests_ended();
    advance(shard);
  }

  void take_request(Shard& shard, std::size_t w) {
    auto& of = shard.of[w];
    const auto request = of.coming.front();
    of.coming.pop_front();
    of.requests.push_back(request);
    if (!shard.protocol.requested(static_cast<int>(w), request.number, !shard.finished.contains(request.step))) {
      of.requests.pop_back();
      finish(request, true);
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
    while (of.requests.size() > (of.answered ? 1u : 0u)) {
      finish(of.requests.back(), true);
      of.requests.pop_back();
    }
    advance(shard);
  }

  /// A shard has finished a request.
  void finish(const Request& request, bool refused) {
    auto& open = open_.at(request.number);
    open.refused = open.refused || refused;
    if (--open.shards > 0) return;
    if (open.refused && !(setting_.led && next_ == kSteps)) again_.insert(open.step);
    open_.erase(request.number);
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
    if (of.requests.empty()) return;
    const auto request = of.requests.front();
    if (kind == ShardEvent::Kind::answer) {
      of.answered = true;
      ++workers_[w].answers[request.number];
      return;
    }
    if (!std::exchange(of.answered, false)) return;
    of.requests.pop_front();
    if (of.arrived) shard.finished.insert(request.step);
    if (of.arrived && kind == ShardEvent::Kind::update)
      ++counted_[static_cast<std::size_t>(&shard - shards_.data())].times[request.step];
    finish(request, !std::exchange(of.arrived, false));
  }

  const ShardSetting setting_;
  std::mt19937_64 random_;
  std::vector<Shard> shards_;
  std::vector<Worker> workers_;
  std::vector<Counted> counted_;
  std::vector<Move> possible_;
  std::map<int, Open> open_;
  std::set<int> again_;
  int next_ = 0, requests_ = 0;
  int losses_left_;
};

}  // namespace troupe::testing
