#include "troupe/actors/plan/dependencies.hpp"

#include <algorithm>
#include <utility>

#include "troupe/actors/plan/own_rule_waits.hpp"

namespace troupe {

namespace {

bool feeds_collective(const Plan& plan, const PlanActor& actor) {
  for (const auto& output : actor.outputs) {
    if (output.edge == kNone) continue;
    for (const auto& consumer : plan.edges[output.edge].consumers)
      if (plan.actors[consumer.actor].role == ActorRole::collective) return true;
  }
  return false;
}

/// True if all outputs of the actor are scalars, and one of `actors` reads one of them.
bool has_scalar_for(const Plan& plan, const PlanActor& actor, const std::vector<bool>& actors) {
  bool is_read = false;
  for (const auto& output : actor.outputs) {
    if (output.info.shape.rank() > 0) return false;
    if (output.edge == kNone) continue;
    for (const auto& consumer : plan.edges[output.edge].consumers)
      is_read = is_read || actors[static_cast<std::size_t>(consumer.actor)];
  }
  return is_read;
}

/// For each actor: true if a collective reads its output, or if its outputs are scalars that such an actor reads, such
/// as the largest magnitude of a bucket.
std::vector<bool> feeding_collectives(const Plan& plan) {
  std::vector<bool> feeding;
  for (const auto& actor : plan.actors) feeding.push_back(feeds_collective(plan, actor));
  // Readers mostly follow in the order of the plan, so that few passes are needed.
  for (bool changed = true; std::exchange(changed, false);)
    for (auto i = plan.actors.size(); i-- > 0;)
      if (!feeding[i] && has_scalar_for(plan, plan.actors[i], feeding)) feeding[i] = changed = true;
  return feeding;
}

/// The output with which the consumer overwrites this input in place; null if there is no such output or no actor reads
/// it.
const PlanOutput* alias_of(const Plan& plan, const PlanConsumer& consumer) {
  const auto& outputs = plan.actors[consumer.actor].outputs;
  const auto alias = std::find_if(outputs.begin(), outputs.end(), [&](const PlanOutput& output) {
    return output.alias_of == consumer.input && output.edge != kNone;
  });
  return alias == outputs.end() ? nullptr : &*alias;
}

void collect_returners(const Plan& plan, const PlanEdge& edge, std::vector<ActorId>& returners, std::size_t depth) {
  for (const auto& consumer : edge.consumers) {
    const auto* alias = alias_of(plan, consumer);
    // A chain of actors each of which overwrites its input in place is at most as long as the plan has edges. The limit
    // ends the search on a cycle of such actors, which CheckedPlan refuses.
    if (alias == nullptr || depth == plan.edges.size())
      returners.push_back(consumer.actor);
    else
      collect_returners(plan, plan.edges[alias->edge], returners, depth + 1);
  }
}

}  // namespace

bool read_inside(const Plan& plan, const PlanEdge& edge) {
  const auto& producer = plan.actors[edge.producer];
  if (producer.role == ActorRole::external) return false;
  return edge.initial_tokens == 0 || (producer.outputs[edge.output].parameter && edge.capacity == 1);
}

Dependencies::Dependencies(const Plan& plan) : followers_(plan.actors.size()) {
  for (std::size_t id = 0; id < plan.edges.size(); ++id) {
    const auto& edge = plan.edges[id];
    const auto edge_id = static_cast<EdgeId>(id);
    collect_returners(plan, edge, returners_.emplace_back(), 0);
    // An actor may read the parameter that it updates over an edge to itself. Such an edge carries no message, so it is
    // no dependency. An edge without tokens from an actor to itself is a dependency, because the actor waits for a
    // tensor that it has yet to send.
    const auto to_itself = [&](ActorId actor) {
      return actor == edge.producer && edge.initial_tokens > 0 && read_inside(plan, edge);
    };
    for (const auto& consumer : edge.consumers)
      if (!to_itself(consumer.actor))
        add(plan, {edge.producer, consumer.actor, edge_id, Dependency::Kind::data, edge.initial_tokens});
    for (auto actor : returners_[id])
      if (!to_itself(actor))
        add(plan, {actor, edge.producer, edge_id, Dependency::Kind::credit, edge.capacity - edge.initial_tokens});
  }
  // Among actors without an order between them, those that feed collectives come first, then those that were added
  // earlier.
  const auto feeding = feeding_collectives(plan);
  const auto rank = [&](ActorId actor) { return std::pair(!feeding[static_cast<std::size_t>(actor)], actor); };
  grouping_order_ = order_ = topological_order(followers_, rank);
  through_own_rules_.resize(plan.actors.size());
  is_alone_.resize(plan.actors.size(), false);
  if (own_rules_.empty()) return;
  auto waits = waits_through_own_rules(plan, followers_, own_rules_);
  through_own_rules_ = std::move(waits.followers);
  is_alone_ = std::move(waits.alone);
  grouping_order_ = order_by(rank);
}

void Dependencies::add(const Plan& plan, const Dependency& dependency) {
  const bool own_rule =
      plan.actors[dependency.from].rule == FiringRule::own || plan.actors[dependency.to].rule == FiringRule::own;
  if (!own_rule) all_.push_back(dependency);
  if (dependency.tokens != 0) return;
  (own_rule ? own_rules_ : within_step_).push_back(dependency);
  // A dependency of an actor on itself orders no actors. The liveness check finds it in within_step() and refuses the
  // plan.
  if (dependency.from != dependency.to && !own_rule) followers_[dependency.from].push_back(dependency.to);
}

std::vector<ActorId> Dependencies::order_by(const ActorRank& rank) const {
  return topological_order(joined(followers_, through_own_rules_), rank);
}

}  // namespace troupe
