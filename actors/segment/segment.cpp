#include "troupe/actors/segment/segment.hpp"

#include <algorithm>
#include <utility>

#include "troupe/actors/segment/captured_subgraphs.hpp"
#include "troupe/actors/segment/device_memory.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

// ---- SegmentBinding

SegmentBinding::SegmentBinding(std::int64_t rows, const Plan& plan, const SegmentLayout& layout, SegmentMemory& memory)
    : rows_(rows),
      plan_(plan),
      layout_(layout),
      of_port_(layout.ports.size()),
      of_output_(layout.outputs.size()),
      bound_slots_(layout.outputs.size(), kUnbound) {
  for (const auto& task : layout.tasks)
    for (const auto* places : {&task.inputs, &task.outputs})
      for (const auto& place : *places) arguments_.push_back(next_argument(place, memory));
  for (std::uint32_t output = 0; output < layout.outputs.size(); ++output) {
    const auto shape = info_of(layout.outputs[output].edge).shape.with_rows(rows);
    auto& sent = sent_.emplace_back();
    for (const auto& slot : memory.slots(output)) sent.push_back(slot ? slot.view(shape) : Tensor());
  }
}

/// Returns the next argument if it lies at the same place in every firing. For an argument at a port or in a slot,
/// notes its number for set_input() or set_output() and returns an empty handle.
Tensor SegmentBinding::next_argument(const ArgumentPlace& place, SegmentMemory& memory) {
  const auto shape = place.info.shape.with_rows(rows_);
  const auto view_of = [&](const Tensor& tensor) { return tensor.view(shape, place.info.dtype, place.byte_offset); };
  switch (place.kind) {
    case ArgumentPlace::Kind::arena:
      return view_of(memory.arena());
    case ArgumentPlace::Kind::constant:
      return view_of(memory.constant(place.constant));
    case ArgumentPlace::Kind::parameter:
      return view_of(memory.parameter(*place.parameter));
    case ArgumentPlace::Kind::port:
      of_port_[place.index].push_back({arguments_.size(), &place, place.info == info_of(layout_.ports[place.index])});
      break;
    case ArgumentPlace::Kind::output: {
      auto& by_slot = of_output_[place.index].emplace_back(SlotArgument{arguments_.size(), {}}).by_slot;
      for (const auto& slot : memory.slots(place.index))
        if (slot) by_slot.push_back(view_of(slot));
      break;
    }
  }
  return {};
}

void SegmentBinding::set_input(std::uint32_t port, const Tensor& tensor) {
  for (const auto& bound : of_port_[port]) {
    const auto& place = *bound.place;
    auto& argument = arguments_[bound.argument];
    if (bound.whole)
      argument = tensor;
    else
      tensor.view_into(argument, place.info.shape.with_rows(rows_), place.info.dtype, place.byte_offset);
  }
}

void SegmentBinding::set_output(std::uint32_t output, std::uint32_t slot) {
  if (bound_slots_[output] == slot) return;
  for (const auto& bound : of_output_[output])
    if (!bound.by_slot.empty()) arguments_[bound.argument] = bound.by_slot[slot];
  bound_slots_[output] = slot;
}

const Tensor& SegmentBinding::output_tensor(std::uint32_t output, std::uint32_t slot, const Tensor& port_tensor) {
  auto& tensor = sent_[output][slot];
  const auto& outgoing = layout_.outputs[output];
  if (outgoing.alias_port == kNone) return tensor;
  const auto& info = info_of(outgoing.edge);
  port_tensor.view_into(tensor, info.shape.with_rows(rows_), info.dtype, outgoing.alias_offset);
  return tensor;
}

void SegmentBinding::release_inputs() {
  for (const auto& port : of_port_)
    for (const auto& bound : port) {
      auto& argument = arguments_[bound.argument];
      if (bound.whole)
        argument = Tensor();
      else
        argument.release_view();
    }
}

void SegmentBinding::append_to(std::vector<std::uintptr_t>& key) const {
  for (const auto& port : of_port_)
    if (!port.empty()) key.push_back(reinterpret_cast<std::uintptr_t>(arguments_[port.front().argument].address()));
  key.insert(key.end(), bound_slots_.begin(), bound_slots_.end());
}

// ---- Segment

Segment::Segment(const CheckedPlan& plan, std::int32_t number, const ExecutorMemory& shared, SegmentStreams& streams,
                 SpawnContext& context)
    : checked_(plan),
      plan_(*checked_),
      segment_(plan_.segments[number]),
      layout_(checked_.layout(number)),
      tasks_(plan_, segment_, layout_, context),
      port_infos_(layout_.port_infos(plan_)) {
  make_memory({plan_, segment_, layout_, shared, context.store, streams.of(segment_)}, streams);
  stream_ = &memory_->stream();
  const auto batch = std::ranges::find_if(port_infos_, [](const auto& info) { return info.shape.has_batch(); });
  if (batch != port_infos_.end()) batch_port_ = static_cast<std::int32_t>(batch - port_infos_.begin());
  binding_ = &binding_for(plan_.max_rows);
}

Segment::~Segment() = default;

/// Makes the memory of the segment. On a device, also makes the SegmentCapture, which needs the memory as a
/// DeviceMemory.
void Segment::make_memory(const SegmentMemorySetup& setup, const SegmentStreams& streams) {
  if (backend_of(segment_.place.device).host_accessible()) {
    memory_ = std::make_unique<HostMemory>(setup);
    return;
  }
  auto memory = std::make_unique<DeviceMemory>(setup, streams, tasks_.reads_any_device());
  if (SegmentCapture::is_allowed() && memory->stream().can_capture())
    capture_ = std::make_unique<SegmentCapture>(*this, *memory);
  memory_ = std::move(memory);
}

SegmentBinding& Segment::binding_for(std::int64_t rows) {
  if (auto* binding = bindings_.find(rows); binding != nullptr) return *binding;
  memory_->reserve_scratch(tasks_.prepare(rows, segment_.place.device));
  return bindings_.add(rows, SegmentBinding(rows, plan_, layout_, *memory_));
}

void Segment::start(std::int64_t rows, std::int64_t step) {
  if (rows < 0 || rows > plan_.max_rows)
    throw Error(name(),
                std::to_string(rows) + " rows came where the plan has room for " + std::to_string(plan_.max_rows));
  if (binding_->rows() != rows) binding_ = &binding_for(rows);
  step_ = step;
}

void Segment::set_input(std::uint32_t port, const Tensor& arrived) {
  if (port_infos_[port].shape.has_batch() && arrived.shape()[0] != binding_->rows())
    throw Error(name(), "inputs of " + std::to_string(binding_->rows()) + " and " + std::to_string(arrived.shape()[0]) +
                            " rows came together");
  binding_->set_input(port, memory_->receive(port, arrived));
}

Firing Segment::firing_of(std::size_t task) const {
  const auto& entry = tasks_[task];
  const auto arguments = binding_->arguments();
  return {arguments.subspan(entry.first_argument, entry.inputs),
          arguments.subspan(entry.first_argument + entry.inputs, entry.outputs),
          step_,
          binding_->rows(),
          {*stream_, memory_->scratch() + entry.scratch_offset},
          entry.start};
}

bool Segment::run_task(std::size_t i, bool continued) {
  const auto& entry = tasks_[i];
  const auto firing = firing_of(i);
  if (entry.updates.empty()) return continued ? entry.task->advance(firing) : entry.task->fire(firing);
  entry.begin_update();
  entry.task->fire(firing);
  entry.finish_update();
  return true;
}

std::size_t Segment::run_captured(std::size_t i) {
  return capture_ ? capture_->launch(i) : i;
}

void Segment::skip_task(std::size_t i, const FailurePtr& failure) {
  if (capture_) capture_->abandon();
  tasks_[i].task->skip(firing_of(i), failure);
}

SentTensor Segment::sent_tensor(std::uint32_t output, std::uint32_t slot, const Tensor& port_tensor) {
  auto message = memory_->send(output, slot, binding_->output_tensor(output, slot, port_tensor), binding_->rows());
  message.start = tasks_.start_on(layout_.outputs[output].edge);
  return message;
}

void Segment::finish() {
  binding_->release_inputs();
  tasks_.drop_starts();
  memory_->finish_firing();
  if (capture_) capture_->finish();
}

long Segment::handles_outside(std::uint32_t output, std::uint32_t slot) const {
  long handles = 0;
  bindings_.for_each([&](const SegmentBinding& binding) {
    if (const auto& sent = binding.output_tensor(output, slot)) handles += sent.use_count() - 1;
  });
  return handles;
}

}  // namespace troupe
