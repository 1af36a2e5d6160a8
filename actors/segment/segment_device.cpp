#include <algorithm>
#include <map>

#include "troupe/actors/segment/segment.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

bool is_on_device(const Plan& plan, ActorId actor, const Place& place) {
  return plan.actors[actor].place.process == place.process && !is_host(plan.actors[actor].place.device);
}

/// The first device in the process of `place` that reads the edge, if one does.
const PlanActor* reader_on_device(const Plan& plan, const PlanEdge& edge, const Place& place) {
  for (const auto& consumer : edge.consumers)
    if (is_on_device(plan, consumer.actor, place)) return &plan.actors[consumer.actor];
  return nullptr;
}

}  // namespace

Segment::~Segment() {
  if (!own_memory_ || host_slots_.empty()) return;
  // Copies to the host may be on their way.
  stream_->record().notify([kept = std::move(host_slots_)] {});
}

Tensor Segment::make_slot(const Plan& plan, const PlanEdge& edge, const Place& place) const {
  const auto shape = edge.info.shape.with_rows(plan.max_rows);
  const auto* reader = own_memory_ ? nullptr : reader_on_device(plan, edge, place);
  try {
    return reader != nullptr ? Tensor::pinned(shape, edge.info.dtype, reader->place.device)
                             : Tensor(shape, edge.info.dtype, place.device);
  } catch (const Error& error) {
    throw Error(plan.actors[edge.producer].name, error.what());
  }
}

void Segment::allocate_slots(const Plan& plan, std::span<const Tensor> shared_buffers, const Place& place) {
  for (const auto& output : layout_.outputs) {
    const auto& edge = plan.edges[output.edge];
    auto& slots = slots_.emplace_back(edge.capacity);
    sent_rows_.emplace_back(edge.capacity, plan.max_rows);
    copies_parameter_.push_back(output.parameter && !output.is_parameter(edge));
    if (output.alias_port != kNone) continue;
    const auto shape = edge.info.shape.with_rows(plan.max_rows);
    for (auto& slot : slots) {
      if (output.is_parameter(edge))
        slot = parameter(*output.parameter).view(shape);
      else if (edge.shared_buffer != kNone)
        slot = shared_buffers[edge.shared_buffer].view(shape, edge.info.dtype, edge.shared_offset);
      else
        slot = make_slot(plan, edge, place);
    }
  }
}

void Segment::allocate_host_slots(const Plan& plan, const Place& place) {
  for (const auto& output : layout_.outputs) {
    const auto& edge = plan.edges[output.edge];
    auto& slots = host_slots_.emplace_back();
    if (!is_read_on_host(plan, edge, place)) continue;
    for (std::int32_t i = 0; i < edge.capacity; ++i)
      slots.push_back(Tensor::pinned(edge.info.shape.with_rows(plan.max_rows), edge.info.dtype, place.device));
  }
}

/// On one stream the order of launches says what events say elsewhere.
void Segment::find_events(const Plan& plan, const PlanSegment& segment, const SegmentStreams& streams) {
  for (const auto& output : layout_.outputs) {
    const auto& edge = plan.edges[output.edge];
    awaited_.push_back(std::ranges::any_of(edge.consumers, [&](const PlanConsumer& consumer) {
      return is_on_device(plan, consumer.actor, segment.place) && !streams.share(edge.producer, consumer.actor);
    }));
  }
  for (const auto port : layout_.ports)
    returned_late_.push_back(!streams.share(plan.edges[port].producer, segment.actors.front()));
  records_firing_ = std::ranges::find(returned_late_, true) != returned_late_.end();
}

void Segment::move_constants() {
  std::map<const std::byte*, Tensor> moved;
  for (auto& task : layout_.tasks) {
    for (auto& place : task.inputs) {
      if (place.kind != ArgumentPlace::Kind::constant || place.constant.device() == stream_->device()) continue;
      auto& constant = moved[place.constant.address()];
      if (!constant) constant = place.constant.to(stream_->device());
      place.constant = constant.view(place.constant.shape(), place.constant.dtype(), 0);
    }
  }
}

void Segment::wait_for_input(const Event& event, const Tensor& arrived) {
  stream_->wait(event);
  if (arrived && is_elsewhere(arrived)) uploads_->wait(event);
}

const Event& Segment::last_use(std::int32_t port) const {
  static const Event at_once;
  if (!own_memory_ || !returned_late_[port]) return at_once;
  return uploads_->uploaded(port).state() != nullptr ? uploads_->uploaded(port) : fired_;
}

void Segment::trace_device(const std::shared_ptr<Trace>& trace) {
  if (own_memory_) device_trace_.emplace(trace, *stream_);
}

void Segment::copy_to_host(std::int32_t output, std::uint32_t slot, const Tensor& tensor) {
  copy(*stream_, tensor, host_slots_[output][slot].view(tensor.shape()));
}

SentTensor Segment::sent(std::int32_t output, std::uint32_t slot, const Tensor& tensor) {
  SentTensor sent{tensor};
  if (!own_memory_) return sent;
  const bool captured = sent_by_captured_[output];
  sent_by_captured_[output] = false;
  if (awaited_[output]) sent.ready = captured ? launched_captured_ : stream_->record();
  if (host_slots_[output].empty()) return sent;
  sent.host_copy = host_slots_[output][slot].view(tensor.shape());
  if (!captured) copy_to_host(output, slot, tensor);
  sent.copied = captured ? launched_captured_ : stream_->record();
  return sent;
}

Event Segment::after(const std::vector<Event>& events) {
  for (const auto& event : events) stream_->wait(event);
  return stream_->record();
}

const Event& Segment::last_work() {
  if (!last_work_) last_work_ = stream_->record();
  return *last_work_;
}

std::exception_ptr Segment::cause_of(const std::exception_ptr& error) {
  const auto fault = stream_->fault();
  return fault ? fault : error;
}

void Segment::mark_failed() {
  for (const auto& entry : tasks_)
    for (const auto& written : entry.writes) written->begin_update();
}

void Segment::abandon_work() {
  if (!own_memory_) return;
  const auto last = stream_->record();
  if (last.done() && !last.error()) return;
  for (const auto& entry : tasks_)
    for (const auto& written : entry.writes) written->abandon();
}

}  // namespace troupe
