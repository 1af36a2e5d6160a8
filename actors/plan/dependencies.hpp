#pragma once

#include <functional>
#include <utility>
#include <vector>

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
  /// The actors of order() in a topological order of within_step() and own_rules(), by which they are grouped.
  const std::vector<ActorId>& grouping_order() const { return grouping_order_; }
  /// An order like grouping_order(). Among the actors whose predecessors have all come, the one with the smallest
  /// `rank` comes next.
  std::vector<ActorId> order_by(const std::function<std::pair<bool, int>(ActorId)>& rank) const;
  /// By actor: the other actors that wait for it in within_step(), once for each dependency.
  const std::vector<std::vector<ActorId>>& followers() const { return followers_; }
  /// The dependencies without a token from and to actors with their own firing rule, as if these fired like the others.
  /// They prove nothing, but a group of actors must not wait for itself through such an actor. Without those of cycles,
  /// which only an actor with its own rule can begin, and of actors that wait for no other actor.
  const std::vector<Dependency>& own_rules() const { return own_rules_; }
  /// By actor: the actors that wait for it in within_step() or own_rules().
  const std::vector<std::vector<ActorId>>& possible_followers() const { return possible_followers_; }

 private:
  void add(const Plan& plan, const Dependency& dependency);
  void keep_ordering_rules(const Plan& plan);

  std::vector<Dependency> all_, within_step_;
  std::vector<std::vector<ActorId>> returners_;
  std::vector<Dependency> own_rules_;
  std::vector<std::vector<ActorId>> followers_, possible_followers_;
  std::vector<ActorId> order_, grouping_order_;
};

/// True if consumers in the segment of the producer read the edge without a message. Such an edge has no initial tokens
/// and carries the value of the same firing, or has one slot and carries a parameter that the producer updates later in
/// the same firing. False if the producer is an external actor, which sends every tensor by message.
bool read_inside(const Plan& plan, const PlanEdge& edge);

}  // namespace troupe
