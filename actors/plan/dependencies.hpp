#pragma once

#include <vector>

#include "troupe/actors/plan/actor_order.hpp"
#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// A reason for one actor of a plan to wait for another. Firing n of `to` comes after firing n - tokens of `from`.
struct Dependency {
  enum class Kind {
    data,    ///< `to` waits for a tensor of `from`
    credit,  ///< `to`, the producer of `edge`, waits for `from` to return a slot
  };
  ActorId from = kNone;
  ActorId to = kNone;
  EdgeId edge = kNone;
  Kind kind = Kind::data;
  std::int32_t tokens = 0;
};

/// All dependencies of a plan. The liveness check, the grouping into segments and the sharing of memory use them.
///
/// A plan whose actors fire on all their inputs is a marked graph: an edge with N slots and t tokens is an arc with t
/// tokens from its producer to each consumer, and an arc with N - t tokens back. An actor with its own firing rule may
/// fire without waiting for any particular edge, so no dependency leads to or from it.
class Dependencies {
 public:
  explicit Dependencies(const Plan& plan);

  const std::vector<Dependency>& all() const { return all_; }
  /// Dependencies without a token, which order the firings within a step.
  const std::vector<Dependency>& within_step() const { return within_step_; }
  /// The actors that return the slots of an edge: its consumers. A consumer that overwrites the tensor in place returns
  /// the slot only after the readers of its output have returned the output, so these readers take its place in the
  /// list.
  const std::vector<ActorId>& returners(EdgeId edge) const { return returners_[edge]; }
  /// The actors in topological order of within_step(). Actors whose output a collective reads, and actors whose
  /// scalars such an actor reads, come as early as possible. Actors that are on a cycle of dependencies without a
  /// token, or depend on one, are missing.
  const std::vector<ActorId>& order() const { return order_; }
  /// The actors of order() in a topological order of within_step() and through_own_rules(), by which they are grouped.
  const std::vector<ActorId>& grouping_order() const { return grouping_order_; }
  /// An order like grouping_order(). Among the actors whose predecessors have all come, the one with the smallest
  /// `rank` comes next.
  std::vector<ActorId> order_by(const ActorRank& rank) const;
  /// By actor: the other actors that wait for it in within_step(), once for each dependency.
  const Followers& followers() const { return followers_; }
  /// By actor: the actors that may wait for it within a step through actors with their own firing rule; see
  /// waits_through_own_rules(). These waits prove nothing, but a group of actors must not wait for itself by one.
  const Followers& through_own_rules() const { return through_own_rules_; }
  /// Whether the actor may not fire together with others, because the waits through actors with their own rule are
  /// unknown; see OwnRuleWaits::alone.
  bool is_alone(ActorId actor) const { return is_alone_[static_cast<std::size_t>(actor)]; }

 private:
  void add(const Plan& plan, const Dependency& dependency);

  std::vector<Dependency> all_, within_step_;
  std::vector<std::vector<ActorId>> returners_;
  std::vector<Dependency> own_rules_;  // without a token, from or to an actor with its own firing rule
  Followers followers_, through_own_rules_;
  std::vector<bool> is_alone_;
  std::vector<ActorId> order_, grouping_order_;
};

/// True if consumers in the segment of the producer read the edge without a message. Such an edge has no initial tokens
/// and carries the value of the same firing, or has one slot and carries a parameter that the producer updates later in
/// the same firing. False if the producer is an external actor, which sends every tensor by message.
bool read_inside(const Plan& plan, const PlanEdge& edge);

}  // namespace troupe
