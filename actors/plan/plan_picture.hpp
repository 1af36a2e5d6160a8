#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/plan_dot.hpp"

namespace troupe {

/// The part of an actor in a training step.
enum class BoxRole { source, op, update, collective, conductor, sink, external };

/// The role of an actor. An external actor that writes parameters is an update.
BoxRole role_of(const PlanActor& actor);

/// An actor, or the actors of a segment.
struct PictureBox {
  std::string name;
  std::vector<ActorId> actors;
  /// The replica whose frame the box lies in, or kNone.
  std::int32_t lane = kNone;
};

/// An edge, or all edges from one box to another that start with tokens, or all that do not.
struct PictureArrow {
  std::size_t from = 0, to = 0;  // boxes
  int edges = 0;
  std::int32_t initial_tokens = 0;
  std::int32_t capacity = 1;  // the largest of an edge
  std::size_t bytes = 0;      // one message of every edge
};

/// A plan as boxes and arrows, for to_dot.
struct PlanPicture {
  std::vector<PictureBox> boxes;
  std::vector<PictureArrow> arrows;  // in the order of the boxes
};

PlanPicture picture_of(const Plan& plan, const DotOptions& options);

}  // namespace troupe
