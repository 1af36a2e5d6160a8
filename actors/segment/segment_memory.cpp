#include "troupe/actors/segment/segment_memory.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

// ---- SegmentMemory

SegmentMemory::SegmentMemory(const SegmentMemorySetup& setup)
    : last_uses_(setup.layout.ports.size()),
      name_(setup.segment.name),
      store_(setup.store),
      stream_(setup.stream),
      arena_(setup.shared.arena),
      scratch_(setup.shared.scratch) {
  const auto& plan = setup.plan;
  const auto& segment = setup.segment;
  if (!shares_arena(plan, segment, setup.layout)) arena_ = arena_of(plan, segment, setup.layout);
  if (!shares_scratch(plan, segment)) scratch_ = std::make_shared<ScratchMemory>(segment.place.device);
}

void SegmentMemory::allocate_slots(const SegmentMemorySetup& setup) {
  for (const auto& outgoing : setup.layout.outputs) {
    const auto& edge = setup.plan.edges[outgoing.edge];
    const auto capacity = static_cast<std::size_t>(edge.capacity);
    auto& output = outputs_.emplace_back(
        Output{&edge, std::vector<Tensor>(capacity), std::vector<std::int64_t>(capacity, setup.plan.max_rows)});
    if (outgoing.copies_parameter(edge)) output.copied_parameter = &*outgoing.parameter;
    if (outgoing.parameter && edge.initial_tokens > 0) output.counter = store_->counter(*outgoing.parameter);
    if (outgoing.alias_port != kNone) continue;
    for (auto& slot : output.slots) slot = slot_for(setup, outgoing);
  }
}

/// Returns the tensor of a slot: the parameter's memory, a view of a shared buffer, or newly allocated memory. If the
/// allocation fails, throws Error that names the producer.
Tensor SegmentMemory::slot_for(const SegmentMemorySetup& setup, const SegmentOutput& output) {
  const auto& edge = setup.plan.edges[output.edge];
  const auto shape = edge.info.shape.with_rows(setup.plan.max_rows);
  if (output.is_parameter(edge)) return parameter(*output.parameter).view(shape);
  if (edge.shared_buffer != kNone)
    return setup.shared.buffers[edge.shared_buffer].view(shape, edge.info.dtype, edge.shared_offset);
  return memory_for(setup.plan.actors[edge.producer].name, [&] { return make_slot(setup, edge); });
}

SentTensor SegmentMemory::send(std::uint32_t output, std::uint32_t slot, const Tensor& tensor, std::int64_t rows) {
  has_sent_ = true;
  refresh(outputs_[output], slot);
  outputs_[output].sent_rows[slot] = rows;
  return message_for(output, slot, tensor);
}

/// Copies the output's parameter into the slot if slots hold copies of it. Notes the version of the parameter that is
/// sent if the output carries a parameter with tokens.
void SegmentMemory::refresh(Output& output, std::uint32_t slot) {
  if (output.copied_parameter != nullptr) copy(*stream_, parameter(*output.copied_parameter), output.slots[slot]);
  if (output.counter != nullptr) output.sent_version = output.counter->updates();
}

void SegmentMemory::begin_run() {
  last_work_.reset();
  refresh_parameters();
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    auto& output = outputs_[i];
    if (output.sent_version == kNothingSent || output.sent_version == output.counter->updates()) continue;
    for (std::uint32_t slot = 0; slot < output.slots.size(); ++slot) refresh(output, slot);
    publish_slots(i);
  }
}

SentTensor SegmentMemory::token(std::uint32_t output, std::uint32_t slot) {
  auto& sent = outputs_[output];
  if (!has_sent_) refresh(sent, slot);
  const auto shape = sent.edge->info.shape.with_rows(sent.sent_rows[slot]);
  return message_for(output, slot, sent.slots[slot].view(shape));
}

const Event& SegmentMemory::last_work() {
  if (!last_work_) last_work_ = stream_->record();
  return *last_work_;
}

bool SegmentMemory::is_busy() const {
  const auto last = stream_->record();
  return !last.done() || last.error() != nullptr;
}

// ---- HostMemory

const Tensor& HostMemory::receive(std::uint32_t, const Tensor& arrived) {
  if (!arrived.host_accessible()) throw Error(name(), "reads host memory, but " + to_string(arrived) + " came");
  return arrived;
}

Tensor HostMemory::make_slot(const SegmentMemorySetup& setup, const PlanEdge& edge) const {
  const auto& place = setup.segment.place;
  const auto shape = edge.info.shape.with_rows(setup.plan.max_rows);
  const auto reader = std::ranges::find_if(edge.consumers, [&](const PlanConsumer& consumer) {
    return is_on_device(setup.plan.actors[consumer.actor], place.process);
  });
  if (reader == edge.consumers.end()) return Tensor(shape, edge.info.dtype, place.device);
  return Tensor::pinned(shape, edge.info.dtype, setup.plan.actors[reader->actor].place.device);
}

}  // namespace troupe
