#include "troupe/actors/plan/segment_boundary.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

namespace {

class BoundaryBuilder {
 public:
  BoundaryBuilder(const Plan& plan, const PlanSegment& segment)
      : plan_(plan),
        segment_(segment),
        members_(segment.actors.begin(), segment.actors.end()),
        external_(plan.actors[segment.actors[0]].role == ActorRole::external) {}

  SegmentBoundary build() {
    for (auto actor : segment_.actors)
      for (const auto& input : plan_.actors[actor].inputs) add_port(input);
    for (auto actor : segment_.actors)
      for (const auto& output : plan_.actors[actor].outputs) add_output(plan_.actors[actor], output);
    return std::move(boundary_);
  }

 private:
  bool is_member(ActorId actor) const { return members_.contains(actor); }

  /// True if members read the edge without a message.
  bool reads_inside(const PlanEdge& edge) const { return is_member(edge.producer) && read_inside(plan_, edge); }

  /// True if the edge has all its readers in the segment, and no token that must be kept apart from the new value.
  bool is_inner(const PlanEdge& edge) const {
    const auto& output = plan_.actors[edge.producer].outputs[edge.output];
    return reads_inside(edge) && output.alias_of == kNone &&
           std::ranges::all_of(edge.consumers, [&](const PlanConsumer& reader) { return is_member(reader.actor); });
  }

  void add_port(const PlanInput& input) {
    if (input.edge == kNone || reads_inside(plan_.edges[input.edge])) return;
    if (!external_ && port_of_.contains(input.edge)) return;
    port_of_[input.edge] = static_cast<std::int32_t>(boundary_.ports.size());
    boundary_.ports.push_back(input.edge);
  }

  void add_output(const PlanActor& actor, const PlanOutput& output) {
    if (external_ && output.edge == kNone) boundary_.outputs.push_back({});
    if (output.edge == kNone || is_inner(plan_.edges[output.edge])) return;
    SegmentOutput outgoing{output.edge, output.parameter};
    if (output.alias_of != kNone) {
      const auto& input = actor.inputs[output.alias_of];
      outgoing.alias_port = port_of_.at(input.edge);
      outgoing.alias_offset = input.byte_offset;
    }
    boundary_.outputs.push_back(outgoing);
  }

  const Plan& plan_;
  const PlanSegment& segment_;
  std::set<ActorId> members_;
  bool external_;
  SegmentBoundary boundary_;
  std::map<EdgeId, std::int32_t> port_of_;
};

}  // namespace

SegmentBoundary boundary_of(const Plan& plan, const PlanSegment& segment) {
  return BoundaryBuilder(plan, segment).build();
}

}  // namespace troupe
