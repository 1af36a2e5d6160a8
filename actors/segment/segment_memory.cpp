#include "troupe/actors/segment/segment_memory.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Bytes on a device. An error says that they were wanted for `purpose`.
Tensor bytes_for(const std::string& purpose, Device device, std::size_t bytes) {
  try {
    return Tensor(Shape{static_cast<std::int64_t>(bytes)}, DType::uint8, device);
  } catch (const Error& error) {
    throw Error(purpose, error.what());
  }
}

/// The actor with the largest output among the inner values of the segment.
std::string producer_of_largest(const SegmentMemorySetup& setup) {
  std::string producer = setup.segment.name;
  std::size_t largest = 0;
  for (const auto& task : setup.layout.tasks)
    for (const auto& output : task.outputs) {
      const auto bytes = bytes_of(output.info, setup.plan.max_rows);
      if (output.kind != ArgumentPlace::Kind::arena || bytes <= largest) continue;
      largest = bytes;
      producer = setup.plan.actors[task.actor].name;
    }
  return producer;
}

}  // namespace

SegmentMemory::SegmentMemory(const SegmentMemorySetup& setup)
    : last_uses_(setup.layout.ports.size()), name_(setup.segment.name), store_(setup.store), stream_(setup.stream) {
  const auto device = setup.segment.place.device;
  arena_ = bytes_for("inner values of " + name_ + ", the largest that of '" + producer_of_largest(setup) + "'", device,
                     setup.layout.arena_bytes);
  scratch_ = bytes_for(name_, device, 0);
}

void SegmentMemory::allocate_slots(const SegmentMemorySetup& setup) {
  const auto& plan = setup.plan;
  for (const auto& output : setup.layout.outputs) {
    const auto& edge = plan.edges[output.edge];
    auto& slots = slots_.emplace_back(edge.capacity);
    if (output.alias_port != kNone) continue;
    const auto shape = edge.info.shape.with_rows(plan.max_rows);
    for (auto& slot : slots) {
      if (output.is_parameter(edge))
        slot = parameter(*output.parameter).view(shape);
      else if (edge.shared_buffer != kNone)
        slot = setup.shared_buffers[edge.shared_buffer].view(shape, edge.info.dtype, edge.shared_offset);
      else
        slot = own_slot(plan, edge, setup.segment.place);
    }
  }
}

/// A slot of its own for an edge. An error names the producer.
Tensor SegmentMemory::own_slot(const Plan& plan, const PlanEdge& edge, const Place& place) const {
  try {
    return make_slot(plan, edge, place);
  } catch (const Error& error) {
    throw Error(plan.actors[edge.producer].name, error.what());
  }
}

std::byte* SegmentMemory::scratch(std::size_t bytes) {
  if (bytes > scratch_.bytes()) scratch_ = bytes_for("kernels of " + name_, arena_.device(), bytes);
  return scratch_.address();
}

void SegmentMemory::copy_parameter(const ParameterRef& ref, std::int32_t output, std::uint32_t slot) {
  copy(*stream_, parameter(ref), slots_[output][slot]);
}

void SegmentMemory::wait_for_input(const Event& event, const Tensor&) {
  stream_->wait(event);
}

const Event& SegmentMemory::last_work() {
  if (!last_work_) last_work_ = stream_->record();
  return *last_work_;
}

}  // namespace troupe
