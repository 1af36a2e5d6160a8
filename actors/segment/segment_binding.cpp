#include "troupe/actors/segment/segment_binding.hpp"

namespace troupe {

SegmentBinding::SegmentBinding(std::int64_t rows, const Plan& plan, const SegmentLayout& layout, SegmentMemory& memory)
    : rows_(rows),
      layout_(layout),
      of_port_(layout.ports.size()),
      of_output_(layout.outputs.size()),
      bound_slots_(layout.outputs.size(), kUnbound) {
  std::size_t arguments = 0;
  for (const auto& task : layout.tasks) arguments += task.inputs.size() + task.outputs.size();
  arguments_.resize(arguments);
  std::size_t argument = 0;
  for (const auto& task : layout.tasks)
    for (const auto* places : {&task.inputs, &task.outputs})
      for (const auto& place : *places) bind(argument++, place, plan, memory);
  for (std::size_t output = 0; output < layout.outputs.size(); ++output) {
    output_infos_.push_back(plan.edges[layout.outputs[output].edge].info);
    auto& sent = sent_.emplace_back();
    for (const auto& slot : memory.slots(static_cast<std::int32_t>(output)))
      sent.push_back(slot ? slot.view(output_infos_.back().shape.with_rows(rows)) : Tensor());
  }
}

void SegmentBinding::bind(std::size_t argument, const ArgumentPlace& place, const Plan& plan, SegmentMemory& memory) {
  const auto shape = place.info.shape.with_rows(rows_);
  const auto view_of = [&](const Tensor& tensor) { return tensor.view(shape, place.info.dtype, place.byte_offset); };
  switch (place.kind) {
    case ArgumentPlace::Kind::arena:
      arguments_[argument] = view_of(memory.arena());
      break;
    case ArgumentPlace::Kind::constant:
      arguments_[argument] = view_of(memory.constant(place.constant));
      break;
    case ArgumentPlace::Kind::parameter:
      arguments_[argument] = view_of(memory.parameter(*place.parameter));
      break;
    case ArgumentPlace::Kind::port:
      of_port_[place.index].push_back({argument, &place, place.info == plan.edges[layout_.ports[place.index]].info});
      break;
    case ArgumentPlace::Kind::output: {
      SlotArgument by_slot{argument, {}};
      for (const auto& slot : memory.slots(place.index))
        if (slot) by_slot.by_slot.push_back(view_of(slot));
      of_output_[place.index].push_back(std::move(by_slot));
      break;
    }
  }
}

void SegmentBinding::set_input(std::int32_t port, const Tensor& tensor) {
  for (const auto& bound : of_port_[port]) {
    const auto& place = *bound.place;
    auto& argument = arguments_[bound.argument];
    if (bound.whole)
      argument = tensor;
    else
      tensor.view_into(argument, place.info.shape.with_rows(rows_), place.info.dtype, place.byte_offset);
  }
}

void SegmentBinding::set_output(std::int32_t output, std::uint32_t slot) {
  if (bound_slots_[output] == static_cast<std::int64_t>(slot)) return;
  for (const auto& bound : of_output_[output])
    if (!bound.by_slot.empty()) arguments_[bound.argument] = bound.by_slot[slot];
  bound_slots_[output] = slot;
}

const Tensor& SegmentBinding::output_tensor(std::int32_t output, std::uint32_t slot, const Tensor& port_tensor) {
  auto& tensor = sent_[output][slot];
  const auto& outgoing = layout_.outputs[output];
  const auto& info = output_infos_[output];
  if (outgoing.alias_port != kNone)
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

long SegmentBinding::handles_outside(std::int32_t output, std::uint32_t slot) const {
  const auto& sent = sent_[output][slot];
  return sent ? sent.use_count() - 1 : 0;
}

void SegmentBinding::append_to(std::vector<std::uintptr_t>& key) const {
  for (const auto& port : of_port_)
    if (!port.empty()) key.push_back(reinterpret_cast<std::uintptr_t>(arguments_[port.front().argument].address()));
  for (auto slot : bound_slots_) key.push_back(static_cast<std::uintptr_t>(slot));
}

}  // namespace troupe
