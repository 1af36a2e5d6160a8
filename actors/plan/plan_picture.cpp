#include "troupe/actors/plan/plan_picture.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Whether the actor may serve several replicas.
bool may_be_shared(const PlanActor& actor) {
  return actor.role == ActorRole::conductor || actor.role == ActorRole::external;
}

std::vector<PictureBox> boxes_of(const Plan& plan, DotLevel level) {
  std::vector<PictureBox> boxes;
  if (level == DotLevel::actors) {
    for (std::size_t i = 0; i < plan.actors.size(); ++i)
      boxes.push_back({plan.actors[i].name, {static_cast<ActorId>(i)}});
    return boxes;
  }
  if (plan.segments.empty()) throw Error("plan", "has no segments to draw: group it by split, chain or fuse");
  for (const auto& segment : plan.segments) boxes.push_back({segment.name, segment.actors});
  return boxes;
}

/// For every actor the replicas whose own actors exchange messages with it.
std::vector<std::set<int>> served_replicas(const Plan& plan) {
  std::vector<std::set<int>> served(plan.actors.size());
  const auto note = [&](ActorId id, ActorId neighbor) {
    const auto& other = plan.actors[neighbor];
    if (!may_be_shared(other)) served[id].insert(other.replica);
  };
  for (const auto& edge : plan.edges)
    for (const auto& consumer : edge.consumers) {
      note(edge.producer, consumer.actor);
      note(consumer.actor, edge.producer);
    }
  return served;
}

void place_in_lanes(std::vector<PictureBox>& boxes, const Plan& plan) {
  const auto served = served_replicas(plan);
  for (auto& box : boxes) {
    const auto first = box.actors.front();
    const auto& actor = plan.actors[first];
    if (!may_be_shared(actor) || served[first].size() < 2) box.lane = actor.replica;
  }
}

/// Edges inside a box have no arrow, unless they carry tokens from step to step.
std::vector<PictureArrow> arrows_between(const std::vector<PictureBox>& boxes, const Plan& plan) {
  std::vector<std::size_t> box_of(plan.actors.size());
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (const auto id : boxes[i].actors) box_of[id] = i;
  std::map<std::tuple<std::size_t, std::size_t, bool>, PictureArrow> merged;
  for (const auto& edge : plan.edges) {
    const auto from = box_of[edge.producer];
    const bool has_tokens = edge.initial_tokens > 0;
    std::set<std::size_t> readers;
    for (const auto& consumer : edge.consumers) readers.insert(box_of[consumer.actor]);
    for (const auto to : readers) {
      if (to == from && !has_tokens) continue;
      auto& arrow = merged.try_emplace({from, to, has_tokens}, PictureArrow{from, to}).first->second;
      ++arrow.edges;
      arrow.initial_tokens += edge.initial_tokens;
      arrow.capacity = std::max(arrow.capacity, edge.capacity);
      arrow.bytes += bytes_of(edge.info, plan.max_rows);
    }
  }
  std::vector<PictureArrow> arrows;
  for (const auto& [ends, arrow] : merged) arrows.push_back(arrow);
  return arrows;
}

}  // namespace

BoxRole role_of(const PlanActor& actor) {
  if (actor.pacing == Pacing::source) return BoxRole::source;
  const auto& call = actor.task.call;
  if (call && call->op->kind == OpKind::update) return BoxRole::update;
  if (std::ranges::any_of(actor.parameters, &HeldParameter::written)) return BoxRole::update;
  constexpr BoxRole kOfActorRole[] = {BoxRole::op,         BoxRole::source,    BoxRole::sink,
                                      BoxRole::collective, BoxRole::conductor, BoxRole::external};
  return kOfActorRole[static_cast<std::size_t>(actor.role)];
}

PlanPicture picture_of(const Plan& plan, const DotOptions& options) {
  PlanPicture picture{boxes_of(plan, options.level), {}};
  if (options.lanes == DotLanes::by_replica) place_in_lanes(picture.boxes, plan);
  picture.arrows = arrows_between(picture.boxes, plan);
  return picture;
}

}  // namespace troupe
