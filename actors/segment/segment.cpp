#include "troupe/actors/segment/segment.hpp"

#include <utility>

#include "troupe/actors/segment/device_memory.hpp"
#include "troupe/actors/segment/host_memory.hpp"
#include "troupe/ops/core/backend.hpp"

namespace troupe {

Segment::Segment(const CheckedPlan& plan, std::int32_t number, std::span<const Tensor> shared_buffers,
                 SegmentStreams& streams, SpawnContext& context)
    : plan_(plan), segment_(plan->segments[number]), layout_(plan.layout(number)) {
  const SegmentMemorySetup setup{*plan_, segment_, layout_, shared_buffers, context.store, streams.of(segment_)};
  SegmentTasks tasks(*plan_, segment_, layout_, context);
  if (backend_of(segment_.place.device).host_accessible())
    make_on_host(setup, std::move(tasks));
  else
    make_on_device(setup, std::move(tasks), streams);
  tokens_.emplace(*plan_, layout_, *context.store, *memory_);
}

void Segment::make_on_host(const SegmentMemorySetup& setup, SegmentTasks tasks) {
  memory_ = std::make_unique<HostMemory>(setup);
  program_.emplace(setup.plan, segment_, layout_, std::move(tasks), *memory_);
}

void Segment::make_on_device(const SegmentMemorySetup& setup, SegmentTasks tasks, const SegmentStreams& streams) {
  auto memory = std::make_unique<DeviceMemory>(setup, streams, tasks.reads_any_device());
  auto& device_memory = *memory;
  memory_ = std::move(memory);
  program_.emplace(setup.plan, segment_, layout_, std::move(tasks), device_memory);
  if (device_memory.stream().can_capture()) program_->capture(device_memory);
}

void Segment::begin_run() {
  memory_->begin_run();
  tokens_->refresh();
}

SentTensor Segment::sent_tensor(std::int32_t output, std::uint32_t slot, const Tensor& port_tensor) {
  const auto& tensor = program_->output_tensor(output, slot, port_tensor);
  tokens_->note_sent(output, slot, program_->binding().rows());
  auto message = memory_->send(output, slot, tensor);
  message.start = program_->start_of(output);
  return message;
}

void Segment::abandon_work() {
  if (memory_->is_busy()) tasks().abandon_updates();
}

}  // namespace troupe
