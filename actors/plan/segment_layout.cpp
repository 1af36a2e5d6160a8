#include "troupe/actors/plan/segment_layout.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "troupe/actors/plan/dependencies.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/graph/memory_plan.hpp"

namespace troupe {

namespace {

using OutputKey = std::pair<ActorId, std::int32_t>;

/// Finds the boundary of a segment, then the place of every value inside the segment.
class LayoutBuilder {
 public:
  LayoutBuilder(const Plan& plan, const PlanSegment& segment)
      : plan_(plan),
        segment_(segment),
        members_(segment.actors.begin(), segment.actors.end()),
        external_(plan.actors[segment.actors[0]].role == ActorRole::external) {
    for (auto actor : segment.actors)
      for (const auto& input : plan.actors[actor].inputs) add_port(input);
    for (auto actor : segment.actors)
      for (const auto& output : plan.actors[actor].outputs) add_output(plan.actors[actor], output);
  }

  SegmentBoundary boundary() { return std::move(layout_); }

  SegmentLayout build() {
    plan_arena();
    for (auto actor : segment_.actors) layout_.tasks.push_back(lay_out_task(actor));
    return std::move(layout_);
  }

 private:
  // ---- The boundary

  /// True if actors of the segment read the edge without a message.
  bool reads_inside(const PlanEdge& edge) const { return members_.contains(edge.producer) && read_inside(plan_, edge); }

  /// True if all readers of the edge are in the segment and read it without a message, and the tensor overwrites no
  /// input in place.
  bool is_inner(const PlanEdge& edge) const {
    const auto& output = plan_.actors[edge.producer].outputs[edge.output];
    return reads_inside(edge) && output.alias_of == kNone &&
           std::ranges::all_of(edge.consumers,
                               [&](const PlanConsumer& reader) { return members_.contains(reader.actor); });
  }

  void add_port(const PlanInput& input) {
    if (input.edge == kNone || reads_inside(plan_.edges[input.edge])) return;
    if (!external_ && port_of_.contains(input.edge)) return;
    port_of_[input.edge] = static_cast<std::int32_t>(layout_.ports.size());
    layout_.ports.push_back(input.edge);
  }

  void add_output(const PlanActor& actor, const PlanOutput& output) {
    if (external_ && output.edge == kNone) layout_.outputs.push_back({});
    if (output.edge == kNone || is_inner(plan_.edges[output.edge])) return;
    output_of_[output.edge] = static_cast<std::int32_t>(layout_.outputs.size());
    auto& outgoing = layout_.outputs.emplace_back(SegmentOutput{output.edge, output.parameter});
    if (output.alias_of == kNone) return;
    const auto& input = actor.inputs[output.alias_of];
    outgoing.alias_port = port_of_.at(input.edge);
    outgoing.alias_offset = input.byte_offset;
  }

  // ---- The values inside

  bool leaves(EdgeId edge) const { return edge != kNone && output_of_.contains(edge); }

  int block_of(OutputKey key) const { return blocks_.at(key); }

  void number_blocks(std::vector<MemoryBlock>& blocks) {
    for (auto actor : segment_.actors) {
      const auto& outputs = plan_.actors[actor].outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        blocks_[{actor, static_cast<std::int32_t>(i)}] = static_cast<int>(blocks.size());
        const bool is_inner = !leaves(outputs[i].edge) && !outputs[i].parameter;
        blocks.push_back({bytes_of(outputs[i].info, plan_.max_rows), is_inner, false});
      }
    }
  }

  MemoryStep memory_step(ActorId actor) const {
    MemoryStep step;
    bool all_whole = true;
    for (const auto& input : plan_.actors[actor].inputs) {
      if (input.edge == kNone) continue;
      const auto& edge = plan_.edges[input.edge];
      if (!members_.contains(edge.producer) || port_of_.contains(input.edge)) continue;
      step.inputs.push_back(block_of({edge.producer, edge.output}));
      all_whole = all_whole && input.byte_offset == 0 && bytes_of(input.info, 1) == bytes_of(edge.info, 1);
    }
    const auto& outputs = plan_.actors[actor].outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      step.outputs.push_back(block_of({actor, static_cast<std::int32_t>(i)}));
    // plan_memory() takes the offsets of all inputs of a pack or of none. An input of another segment, or a view, has
    // no block that could lie inside the pack.
    if (all_whole && !outputs.empty() && outputs[0].pack_offsets.size() == step.inputs.size())
      step.pack_offsets = outputs[0].pack_offsets;
    return step;
  }

  void plan_arena() {
    std::vector<MemoryBlock> blocks;
    number_blocks(blocks);
    std::vector<MemoryStep> steps;
    for (auto actor : segment_.actors) steps.push_back(memory_step(actor));
    constexpr std::size_t kMostApart = std::size_t{256} << 20;
    memory_ = plan_memory(steps, blocks, is_host(segment_.place.device) ? 0 : kMostApart);
    layout_.arena_bytes = memory_.arena_bytes;
    key_of_block_.resize(blocks.size());
    for (const auto& [key, block] : blocks_) key_of_block_[block] = key;
  }

  /// The place of a tensor that begins `byte_offset` bytes into an output of an actor of the segment.
  ArgumentPlace place_of(OutputKey key, std::size_t byte_offset, const TensorInfo& info) const {
    const auto& output = plan_.actors[key.first].outputs[key.second];
    if (output.parameter) return {ArgumentPlace::Kind::parameter, 0, byte_offset, info, output.parameter, {}};
    if (leaves(output.edge))
      return {ArgumentPlace::Kind::output, output_of_.at(output.edge), byte_offset, info, {}, {}};
    const auto& placement = memory_.placements[block_of(key)];
    if (placement.parent != BlockPlacement::kArena)
      return place_of(key_of_block_[placement.parent], placement.offset + byte_offset, info);
    return {ArgumentPlace::Kind::arena, 0, placement.offset + byte_offset, info, {}, {}};
  }

  ArgumentPlace place_of_input(const PlanInput& input) const {
    if (input.parameter) return {ArgumentPlace::Kind::parameter, 0, input.byte_offset, input.info, input.parameter, {}};
    if (input.edge == kNone)
      return {ArgumentPlace::Kind::constant, 0, input.byte_offset, input.info, {}, input.constant};
    if (port_of_.contains(input.edge))
      return {ArgumentPlace::Kind::port, port_of_.at(input.edge), input.byte_offset, input.info, {}, {}};
    const auto& edge = plan_.edges[input.edge];
    return place_of({edge.producer, edge.output}, input.byte_offset, input.info);
  }

  TaskLayout lay_out_task(ActorId actor) const {
    TaskLayout task;
    task.actor = actor;
    for (const auto& input : plan_.actors[actor].inputs) task.inputs.push_back(place_of_input(input));
    const auto& outputs = plan_.actors[actor].outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto in_place = outputs[i].alias_of;
      task.outputs.push_back(in_place == kNone ? place_of({actor, static_cast<std::int32_t>(i)}, 0, outputs[i].info)
                                               : place_of_input(plan_.actors[actor].inputs[in_place]));
      if (leaves(outputs[i].edge)) task.sends.push_back(output_of_.at(outputs[i].edge));
    }
    return task;
  }

  const Plan& plan_;
  const PlanSegment& segment_;
  std::set<ActorId> members_;
  bool external_;
  SegmentLayout layout_;
  std::map<EdgeId, std::int32_t> port_of_, output_of_;
  std::map<OutputKey, int> blocks_;
  std::vector<OutputKey> key_of_block_;
  MemoryPlan memory_;
};

}  // namespace

std::size_t bytes_of(const TensorInfo& info, std::int64_t rows) {
  return static_cast<std::size_t>(info.shape.with_rows(rows).elements()) * size_of(info.dtype);
}

bool is_read_on_host(const Plan& plan, const PlanEdge& edge, const Place& place) {
  return std::ranges::any_of(edge.consumers, [&](const PlanConsumer& consumer) {
    const auto& reader = plan.actors[consumer.actor].place;
    return is_host(reader.device) || reader.process != place.process;
  });
}

bool is_awaited_at_once(const Plan& plan, const PlanEdge& edge) {
  const auto& place = plan.actors[edge.producer].place;
  return std::ranges::any_of(edge.consumers, [&](const PlanConsumer& consumer) {
    const auto& actor = plan.actors[consumer.actor];
    return actor.role == ActorRole::collective || actor.role == ActorRole::conductor ||
           actor.place.process != place.process || (actor.place.device != place.device && !is_host(actor.place.device));
  });
}

bool is_on_device(const PlanActor& actor, int process) {
  return actor.place.process == process && !is_host(actor.place.device);
}

ScratchAreas ScratchAreas::on(Device device, const std::vector<std::size_t>& bytes_of_kernels) {
  constexpr std::size_t kMostAreas = 16, kMostBytes = std::size_t{256} << 20;
  if (bytes_of_kernels.empty()) return {};
  // The size of an area is rounded so that every area has the alignment of a separate allocation, which kernel
  // libraries expect.
  const auto bytes = MemoryPool::rounded(std::ranges::max(bytes_of_kernels));
  const auto users = bytes_of_kernels.size() - static_cast<std::size_t>(std::ranges::count(bytes_of_kernels, 0U));
  if (users == 0 || is_host(device)) return {1, bytes};
  return {std::clamp<std::size_t>(kMostBytes / bytes, 1, std::min(kMostAreas, users)), bytes};
}

bool shares_scratch(const Plan& plan, const PlanSegment& segment) {
  return is_host(segment.place.device) && std::ranges::all_of(segment.actors, [&](ActorId id) {
           return plan.actors[id].task.call.has_value() && !plan.actors[id].make_task;
         });
}

bool shares_arena(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout) {
  constexpr std::size_t kSmall = 4096;
  return shares_scratch(plan, segment) && layout.arena_bytes >= kSmall;
}

std::vector<TensorInfo> SegmentBoundary::port_infos(const Plan& plan) const {
  std::vector<TensorInfo> infos;
  for (auto edge : ports) infos.push_back(plan.edges[edge].info);
  return infos;
}

std::size_t SegmentLayout::slot_bytes(const Plan& plan) const {
  std::size_t bytes = 0;
  for (const auto& output : outputs) {
    if (output.edge == kNone) continue;
    const auto& edge = plan.edges[output.edge];
    if (output.is_parameter(edge) || output.alias_port != kNone || edge.shared_buffer != kNone) continue;
    bytes += static_cast<std::size_t>(edge.capacity) * Allocator::rounded(bytes_of(edge.info, plan.max_rows));
  }
  return bytes;
}

const std::string* SegmentLayout::producer_of_largest(const Plan& plan) const {
  const std::string* producer = nullptr;
  std::size_t largest = 0;
  for (const auto& task : tasks)
    for (const auto& output : task.outputs) {
      const auto bytes = bytes_of(output.info, plan.max_rows);
      if (output.kind != ArgumentPlace::Kind::arena || bytes <= largest) continue;
      largest = bytes;
      producer = &plan.actors[task.actor].name;
    }
  return producer;
}

SegmentBoundary boundary_of(const Plan& plan, const PlanSegment& segment) {
  return LayoutBuilder(plan, segment).boundary();
}

SegmentLayout lay_out(const Plan& plan, const PlanSegment& segment) {
  return LayoutBuilder(plan, segment).build();
}

}  // namespace troupe
