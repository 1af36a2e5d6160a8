#pragma once

#include <span>
#include <vector>

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// The waits in a plan that follow from actors with their own firing rule.
struct OwnRuleWaits {
  /// By actor: the actors that may wait for it within a step through actors with their own rule.
  Followers followers;
  /// By actor: true if it may not fire together with any other actor.
  std::vector<bool> alone;
};

/// Returns the waits through actors with their own firing rule. Such an actor may send a tensor only after it has
/// received another one, so the sender of the latter and the reader of the former must not fire together. Actors with
/// their own rule that send to each other count as one. The senders of an actor with its own rule are also senders of
/// the actors with their own rule to which it sends. `own_rules` are the dependencies without a token from
/// and to actors with their own rule, `followers` the other ones.
///
/// A reader does not wait for a sender that itself waits for the reader: the actor with its own rule sends the tensor
/// of the reader first. If both take part in such exchanges, as the workers of a parameter server do, the reader does
/// not wait for the sender unless actors of one replica come before the sender and behind the reader. If actors would
/// wait for each other, their order is unknown. These waits are left out, and all actors of their replicas are alone.
OwnRuleWaits waits_through_own_rules(const Plan& plan, const Followers& followers,
                                     std::span<const Dependency> own_rules);

}  // namespace troupe
