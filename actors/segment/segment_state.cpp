#include "troupe/actors/segment/segment_state.hpp"

namespace troupe {

std::string SegmentState::waits_for(bool sources_open) const {
  const auto& ports = firing.ports();
  if (ended) {
    if (!ports.at_rest()) return "has ended, " + ports.awaited_credit();
    return finished ? "has ended" : "has ended, waits for the device to complete its work";
  }
  if (phase == Phase::pending) return firing.waited_task();
  if (const auto awaited = ports.awaited(); !awaited.empty()) return awaited;
  return is_source && !sources_open ? "is paused" : "is about to fire";
}

}  // namespace troupe
