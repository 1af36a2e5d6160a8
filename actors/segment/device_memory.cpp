#include "troupe/actors/segment/device_memory.hpp"

#include <algorithm>

namespace troupe {

DeviceMemory::DeviceMemory(const SegmentMemorySetup& setup, const SegmentStreams& streams, bool reads_any_device)
    : SegmentMemory(setup),
      reads_any_device_(reads_any_device),
      uploads_(setup.segment.place.device, setup.layout.port_infos(setup.plan), setup.plan.max_rows),
      captured_(setup.layout.outputs.size()) {
  allocate_slots(setup);
  for (const auto& output : setup.layout.outputs) add_output(setup, setup.plan.edges[output.edge], streams);
  for (const auto port : setup.layout.ports)
    returned_late_.push_back(!streams.share(setup.plan.edges[port].producer, setup.segment.actors.front()));
  records_firing_ = std::ranges::find(returned_late_, true) != returned_late_.end();
}

DeviceMemory::~DeviceMemory() {
  if (host_slots_.empty()) return;
  // Launched copies may still write to the host slots, so the slots are kept until this work is done.
  stream().record().notify([kept = std::move(host_slots_)] {});
}

Tensor DeviceMemory::make_slot(const SegmentMemorySetup& setup, const PlanEdge& edge) const {
  return Tensor(edge.info.shape.with_rows(setup.plan.max_rows), edge.info.dtype, setup.segment.place.device);
}

/// Makes the host slots of an output that is read on the host. Notes whether messages of the output need an event. A
/// consumer on the same stream needs none, since its work is launched, and so runs, after the producer's work.
void DeviceMemory::add_output(const SegmentMemorySetup& setup, const PlanEdge& edge, const SegmentStreams& streams) {
  const auto& plan = setup.plan;
  const auto& place = setup.segment.place;
  awaited_.push_back(std::ranges::any_of(edge.consumers, [&](const PlanConsumer& consumer) {
    return is_on_device(plan.actors[consumer.actor], place.process) && !streams.share(edge.producer, consumer.actor);
  }));
  auto& slots = host_slots_.emplace_back();
  if (!is_read_on_host(plan, edge, place)) return;
  for (std::int32_t i = 0; i < edge.capacity; ++i)
    slots.push_back(Tensor::pinned(edge.info.shape.with_rows(plan.max_rows), edge.info.dtype, place.device));
}

bool DeviceMemory::is_elsewhere(const Tensor& arrived) const {
  return !reads_any_device_ && arrived.device() != stream().device();
}

const Tensor& DeviceMemory::parameter(const ParameterRef& ref) {
  const auto& stored = store().borrowed(ref);
  if (stored.device() == stream().device()) return stored;
  auto& on_device = parameter_copies_[ref];
  if (!on_device) on_device = stored.to(stream().device());
  return on_device;
}

Tensor DeviceMemory::constant(const Tensor& value) {
  if (value.device() == stream().device()) return value;
  auto& on_device = constants_[value.address()];
  if (!on_device) on_device = value.to(stream().device());
  return on_device.view(value.shape(), value.dtype(), 0);
}

void DeviceMemory::wait_for_input(const Event& event, const Tensor& arrived) {
  stream().wait(event);
  if (arrived && is_elsewhere(arrived)) uploads_.wait(event);
}

const Tensor& DeviceMemory::receive(std::uint32_t port, const Tensor& arrived) {
  if (!is_elsewhere(arrived)) return arrived;
  uploaded_ = uploads_.upload(port, arrived);
  stream().wait(uploads_.uploaded(port));
  return uploaded_;
}

SentTensor DeviceMemory::message_for(std::uint32_t output, std::uint32_t slot, const Tensor& tensor) {
  SentTensor sent{tensor};
  const bool captured = captured_[output];
  captured_[output] = false;
  if (awaited_[output]) sent.ready = captured ? captured_end_ : stream().record();
  if (host_slots_[output].empty()) return sent;
  sent.host_copy = host_slots_[output][slot].view(tensor.shape());
  if (!captured) copy_to_host(output, slot, tensor);
  sent.copied = captured ? captured_end_ : stream().record();
  return sent;
}

void DeviceMemory::finish_firing() {
  const auto fired = records_firing_ ? stream().record() : Event();
  uploads_.finish(fired);
  for (std::uint32_t port = 0; port < last_uses_.size(); ++port) {
    if (!returned_late_[port]) continue;
    const auto& uploaded = uploads_.uploaded(port);
    last_uses_[port] = uploaded.state() != nullptr ? uploaded : fired;
  }
  uploads_.start();
}

/// Copies every parameter that lies in other memory to the device, once a run. Such a parameter changes only between
/// the runs in which this segment reads it.
void DeviceMemory::refresh_parameters() {
  for (const auto& [ref, on_device] : parameter_copies_) copy_and_wait(store().borrowed(ref), on_device);
}

void DeviceMemory::publish_slots(std::uint32_t output) {
  const auto& host_slots = host_slots_[output];
  for (std::size_t slot = 0; slot < host_slots.size(); ++slot) copy(stream(), slots(output)[slot], host_slots[slot]);
  stream().record().wait();
}

void DeviceMemory::copy_to_host(std::uint32_t output, std::uint32_t slot, const Tensor& tensor) {
  copy(stream(), tensor, host_slots_[output][slot].view(tensor.shape()));
}

void DeviceMemory::note_captured(std::uint32_t output, const Event& end) {
  captured_[output] = true;
  captured_end_ = end;
}

}  // namespace troupe
