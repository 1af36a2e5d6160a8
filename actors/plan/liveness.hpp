#pragma once

#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// A reason for one actor of a plan to wait for another: firing n of `to` comes after firing n - tokens of `from`.
struct Wait {
  ActorId from = kNone;
  ActorId to = kNone;
  EdgeId edge = kNone;
  /// False: `to` waits for a tensor of `from`. True: `to` waits for `from` to return a slot.
  bool credit = false;
  std::int32_t tokens = 0;
};

/// All waits of a plan. A plan whose actors fire on all their inputs is a marked graph: an edge of capacity N with t
/// tokens is a place with t tokens from its producer to each consumer and a place with N - t back.
std::vector<Wait> waits_of(const Plan& plan);

/// Those without a token: what must happen in order within a step.
std::vector<Wait> token_free_waits(const Plan& plan);

/// Who gives back the slots of an edge: its consumers, or for one that works in place whoever reads its output.
std::vector<ActorId> returners(const Plan& plan, const PlanEdge& edge);

/// Proves that the plan can never deadlock: a marked graph is live iff every directed cycle holds a token (Commoner,
/// Holt, Even and Pnueli, "Marked directed graphs", 1971). Segments count as the actors they contract. Throws Error
/// that names a cycle actor by actor if there is one without.
void check_liveness(const Plan& plan);

/// The actors in an order in which each comes after all that it waits for. Throws Error like check_liveness.
std::vector<ActorId> firing_order(const Plan& plan);

}  // namespace troupe
