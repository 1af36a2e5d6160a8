#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/actors/shard/shard_event.hpp"

namespace troupe {

/// What a shard does next, by its rule or as it is told: pure bookkeeping, no actor and no tensor.
///
/// A worker's turn begins with a ticket, which every shard gets: the worker asks for parameters. When the shard has
/// answered, the gradient is in flight, until it is applied or dropped. A worker has one gradient in flight at most.
///
/// Late gradients that are awaited: the oldest gradients in flight, in the order of their versions u, can be applied in
/// the versions v, v + 1, ...; as long as each of them keeps to its bound in this way nobody has to be dropped, so an
/// answer or an update after which one would not waits. Where fewer gradients can be in flight than there are workers,
/// all shards answer in the order of the tickets: else two of them could each wait for a worker that the other one has
/// not answered.
///
/// A worker that is lost gets no answer any more; of what it has in flight, what has arrived is applied, and the rest
/// is dropped. A batch that another worker computes again may have been applied by this shard already, though not by
/// all: it is answered as any other, and its gradient dropped.
class ShardProtocol {
 public:
  /// Whether the shard decides by the rule, or does what follow() says, in that order.
  enum class Mode { decides, follows };

  explicit ShardProtocol(const ConsistencyRule& rule, Mode mode = Mode::decides);

  /// A run begins, with this version of the parameters and this ticket.
  void begin(std::int64_t version, std::int64_t first_ticket);
  std::int64_t version() const { return version_; }

  /// A worker has been given a ticket. A lost one is not answered: false. A gradient that is not `wanted` is dropped.
  bool pulled(int worker, std::int64_t ticket, bool wanted = true);
  /// No worker gets another ticket in this run.
  void tickets_ended() { tickets_ended_ = true; }
  /// The gradient of a worker is there. Throws Error if it has none in flight.
  void pushed(int worker);
  /// Nothing more comes of a worker in this run.
  void lost(int worker);
  /// The next of the events that are to be followed.
  void follow(ShardEvent event) { to_follow_.push_back(std::move(event)); }

  /// What is done now, if anything can be. Only workers that have room are answered. With an update the version goes
  /// up.
  std::optional<ShardEvent> next(const std::function<bool(int worker)>& has_room);
  /// For every gradient of the last event, how many versions the parameters had moved on from those of its worker.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }

 private:
  struct InFlight {
    int worker;
    std::int64_t version;
    bool wanted = true;
    bool arrived = false;
  };
  struct Pull {
    int worker;
    bool wanted;
  };
  using Workers = std::vector<int>;

  std::optional<ShardEvent> decide(const std::function<bool(int)>& has_room) const;
  std::optional<int> to_drop() const;
  Workers to_apply() const;
  std::optional<int> to_answer(const std::function<bool(int)>& has_room) const;
  bool can_follow(const ShardEvent& event, const std::function<bool(int)>& has_room) const;
  void carry_out(const ShardEvent& event);
  void carry_out_answer(int worker);
  void pass_over(std::int64_t ticket);
  void note_answered(std::int64_t ticket);
  bool is_late(const InFlight& gradient) const;
  bool keeps_bounds(const std::vector<InFlight>& in_flight, std::int64_t version) const;
  std::size_t wanted() const;
  const InFlight* in_flight_of(int worker) const;
  const std::pair<const std::int64_t, Pull>* pull_of(int worker) const;

  ConsistencyRule rule_;
  Mode mode_;
  bool in_ticket_order_;
  std::int64_t version_ = 0;
  std::int64_t next_ticket_ = 0;
  bool tickets_ended_ = false;
  std::map<std::int64_t, Pull> pulls_;  // by ticket
  std::set<std::int64_t> passed_over_;  // tickets of lost workers
  std::set<int> lost_;
  std::vector<InFlight> in_flight_;  // in the order of their answers, and so of their versions
  std::deque<ShardEvent> to_follow_;
  std::vector<std::int64_t> staleness_;
};

}  // namespace troupe
