#include "troupe/actors/segment/segment_actor.hpp"

namespace troupe {

std::string SegmentActor::waits_for(SegmentState& segment) {
  if (!is_wired()) return "is not wired yet";
  if (segment.ended) {
    for (std::uint32_t i = 0; i < segment.outputs(); ++i)
      if (!ports_.at_rest(segment.first_output + i))
        return "has ended, " + ports_.awaited_credit(segment.first_output + i);
    if (!segment.finished) return "has ended, waits for the device to complete its work";
    return "has ended";
  }
  if (segment.state == State::pending) return segment.work->task_waits_for(segment.task);
  for (std::uint32_t i = 0; i < segment.inputs(); ++i)
    if (!ports_.has(segment.first_input + i)) return ports_.awaited_tensor(segment.first_input + i);
  for (std::uint32_t i = 0; i < segment.outputs(); ++i)
    if (!ports_.has_free(segment.first_output + i)) return ports_.awaited_credit(segment.first_output + i);
  return segment.is_source && !sources_open_ ? "is paused" : "is about to fire";
}

void SegmentActor::describe(StallReport& report) {
  std::vector<std::string> lines;
  for (auto& segment : segments_)
    lines.push_back("'" + segment.work->name() + "' (step " + std::to_string(step_of(segment)) + ") " +
                    waits_for(segment));
  report.add(status_->name, lines);
}

}  // namespace troupe
