#include "troupe/actors/plan/share_memory.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "troupe/actors/plan/reachability.hpp"
#include "troupe/actors/plan/segment_layout.hpp"

namespace troupe {

namespace {

/// Edges with fewer bytes share no buffer with other edges, since sharing would gain little.
constexpr std::size_t kSmall = 4096;

/// Returns the dependencies with `tokens` tokens, as pairs of actors. Dependencies from or to an external actor are
/// left out, since an external actor may fire by another rule.
std::vector<Succession> successions(const Plan& plan, const Dependencies& dependencies, std::int32_t tokens) {
  const auto trusted = [&](ActorId actor) { return plan.actors[actor].role != ActorRole::external; };
  std::vector<Succession> successions;
  for (const auto& dependency : dependencies.all())
    if (dependency.tokens == tokens && trusted(dependency.from) && trusted(dependency.to))
      successions.emplace_back(dependency.from, dependency.to);
  return successions;
}

/// The order that the dependencies enforce between firings of the same step and of successive steps.
class Order {
 public:
  Order(const Plan& plan, const Dependencies& dependencies, const std::vector<Succession>& in_step)
      : within_(plan.actors.size(), dependencies.order(), in_step),
        across_(Reachability::with_one_of(successions(plan, dependencies, 1), within_, dependencies.order(), in_step)) {
  }
  Order(const Plan& plan, const Dependencies& dependencies)
      : Order(plan, dependencies, successions(plan, dependencies, 0)) {}

  /// True if firing n of `first` is over before firing n of `second` begins.
  bool before(ActorId first, ActorId second) const { return within_.reaches(first, second); }
  /// True if firing n of `first` is over before firing n + 1 of `second` begins.
  bool before_next(ActorId first, ActorId second) const { return across_.reaches(first, second); }

 private:
  Reachability within_, across_;
};

/// True if the producers of both edges compute at one place, so that one buffer can serve both edges. Buffers do not
/// move between the places of the host: the caches of their cores would exchange the contents.
bool lie_together(const Plan& plan, EdgeId a, EdgeId b) {
  return plan.actors[plan.edges[a].producer].place == plan.actors[plan.edges[b].producer].place;
}

std::size_t bytes_of(const Plan& plan, EdgeId edge) {
  return bytes_of(plan.edges[edge].info, plan.max_rows);
}

class MemorySharing {
 public:
  MemorySharing(Plan& plan, const Dependencies& dependencies, bool on_devices)
      : plan_(plan), dependencies_(dependencies) {
    for (const auto& segment : plan.segments)
      if (on_devices || is_host(segment.place.device))
        for (const auto& output : boundary_of(plan, segment).outputs)
          if (output.edge != kNone && has_one_slot(output.edge)) stored_.push_back(output.edge);
    std::ranges::sort(stored_);
  }

  /// Lets the inputs of packing ops, called parts, be computed at their offsets in the packed tensor, the pack, so that
  /// the ops copy nothing. is_part() checks that all readers of a pack have fired before a part of the next step is
  /// computed.
  void place_parts() {
    for (auto pack : stored_) {
      const auto& producer = plan_.actors[plan_.edges[pack].producer];
      const auto& offsets = output_of(pack).pack_offsets;
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        const auto part = producer.inputs[i].edge;
        if (part == kNone || !is_part(producer.inputs[i], pack)) continue;
        if (plan_.edges[pack].shared_buffer == kNone) add_buffer(pack);
        plan_.edges[part].shared_buffer = plan_.edges[pack].shared_buffer;
        plan_.edges[part].shared_offset = offsets[i];
      }
    }
  }

  void share_buffers() {
    std::vector<EdgeId> candidates;
    for (auto edge : stored_)
      if (plan_.edges[edge].shared_buffer == kNone && !is_in_place(edge) && bytes_of(plan_, edge) >= kSmall)
        candidates.push_back(edge);
    if (candidates.size() < 2) return;
    std::ranges::stable_sort(candidates, std::greater<>(), [&](EdgeId edge) { return bytes_of(plan_, edge); });
    std::vector<std::vector<EdgeId>> members;
    for (auto edge : candidates) {
      const auto buffer = std::ranges::find_if(members, [&](const auto& others) { return fits(edge, others); });
      if (buffer != members.end()) {
        plan_.edges[edge].shared_buffer = plan_.edges[buffer->front()].shared_buffer;
        buffer->push_back(edge);
      } else {
        add_buffer(edge);
        members.push_back({edge});
      }
    }
  }

 private:
  const PlanOutput& output_of(EdgeId edge) const {
    return plan_.actors[plan_.edges[edge].producer].outputs[plan_.edges[edge].output];
  }

  /// True if the edge has one slot and no token, and lies between actors of one process that are not external.
  bool has_one_slot(EdgeId id) const {
    const auto& edge = plan_.edges[id];
    const auto process = plan_.actors[edge.producer].place.process;
    const auto elsewhere = [&](ActorId reader) {
      const auto& actor = plan_.actors[reader];
      return actor.role == ActorRole::external || actor.place.process != process;
    };
    return edge.capacity == 1 && edge.initial_tokens == 0 && !elsewhere(edge.producer) &&
           std::ranges::none_of(dependencies_.returners(id), elsewhere);
  }

  bool is_in_place(EdgeId edge) const {
    const auto& output = output_of(edge);
    return output.parameter || output.alias_of != kNone || !output.pack_offsets.empty();
  }

  bool is_part(const PlanInput& input, EdgeId pack) const {
    const auto& edge = plan_.edges[input.edge];
    const bool whole = input.byte_offset == 0 && bytes_of(input.info, plan_.max_rows) == bytes_of(plan_, input.edge);
    // Every other reader must be over before the pack exists, since an actor may change the pack in place.
    const auto packer = plan_.edges[pack].producer;
    const auto over_before_pack = [&](ActorId reader) { return reader == packer || order().before(reader, packer); };
    return whole && std::ranges::all_of(dependencies_.returners(input.edge), over_before_pack) &&
           std::ranges::binary_search(stored_, input.edge) && !is_in_place(input.edge) &&
           lie_together(plan_, input.edge, pack) && are_over_before_next(dependencies_.returners(pack), edge.producer);
  }

  bool are_over_before_next(const std::vector<ActorId>& readers, ActorId producer) const {
    return std::ranges::all_of(readers, [&](ActorId reader) { return order().before_next(reader, producer); });
  }

  /// True if edge a is empty again before edge b is filled, and edge b is empty again before edge a is filled in the
  /// next step.
  bool comes_before(EdgeId a, EdgeId b) const {
    return std::ranges::all_of(dependencies_.returners(a),
                               [&](ActorId reader) { return order().before(reader, plan_.edges[b].producer); }) &&
           are_over_before_next(dependencies_.returners(b), plan_.edges[a].producer);
  }

  bool fits(EdgeId edge, const std::vector<EdgeId>& others) const {
    return lie_together(plan_, edge, others.front()) && std::ranges::all_of(others, [&](EdgeId other) {
             return comes_before(edge, other) || comes_before(other, edge);
           });
  }

  /// The order, which is made when it is first used: its tables are large, and most plans in the grain `fused` have no
  /// edges that could share.
  const Order& order() const {
    if (!order_) order_.emplace(plan_, dependencies_);
    return *order_;
  }

  void add_buffer(EdgeId edge) {
    plan_.edges[edge].shared_buffer = static_cast<std::int32_t>(plan_.shared_buffers.size());
    plan_.shared_buffers.push_back(bytes_of(plan_, edge));
  }

  Plan& plan_;
  const Dependencies& dependencies_;
  mutable std::optional<Order> order_;
  std::vector<EdgeId> stored_;  // segment outputs for which has_one_slot() is true, ascending
};

}  // namespace

void share_memory(Plan& plan, const Dependencies& dependencies, bool on_devices) {
  Reachability::expect_at_most(plan.actors.size());
  MemorySharing sharing(plan, dependencies, on_devices);
  sharing.place_parts();
  sharing.share_buffers();
}

}  // namespace troupe
