#include "troupe/actors/run/segment_actor.hpp"

namespace troupe {

std::string SegmentActor::held_by_consumer(const Output& output) const {
  return "waits for '" + output.wire.consumer_names[output.slots.holder()] + "' to return '" + output.wire.edge + "'";
}

std::string SegmentActor::waits_for(SegmentState& segment) {
  if (!supervisor_) return "is not wired yet";
  if (segment.ended) {
    for (std::size_t i = 0; i < segment.work->layout().outputs.size(); ++i) {
      const auto& output = output_of(segment, i);
      if (output.slots.free_count() < output.home()) return "has ended, " + held_by_consumer(output);
    }
    return "has ended";
  }
  if (segment.state == State::pending) return segment.work->task_waits_for(segment.task);
  for (std::size_t i = 0; i < segment.current.size(); ++i) {
    const auto& port = port_of(segment, i);
    if (port.queue.empty()) return "waits for '" + port.wire.producer_name + "' to send '" + port.wire.edge + "'";
  }
  for (std::size_t i = 0; i < segment.work->layout().outputs.size(); ++i) {
    const auto& output = output_of(segment, i);
    if (!output.slots.has_free()) return held_by_consumer(output);
  }
  return segment.is_source && !sources_open_ ? "is paused" : "is about to fire";
}

void SegmentActor::describe(StallReport& report) {
  for (auto& segment : segments_)
    report.add(setup_.status->name,
               "'" + segment.work->name() + "' (step " + std::to_string(step_of(segment)) + ") " + waits_for(segment));
}

}  // namespace troupe
