#include "troupe/actors/segment/segment_streams.hpp"

#include "troupe/ops/core/backend.hpp"

namespace troupe {

SegmentStreams::SegmentStreams(const Plan& plan, std::span<const std::int32_t> segments) {
  for (auto index : segments) {
    const auto& segment = plan.segments[index];
    if (segment.stream == kNone) continue;
    for (auto actor : segment.actors) number_of_[actor] = segment.stream;
  }
}

std::shared_ptr<Stream> SegmentStreams::of(const PlanSegment& segment) {
  const auto device = segment.place.device;
  if (segment.stream == kNone) return backend_of(device).make_stream(device);
  auto& shared = shared_[segment.stream];
  if (!shared) shared = backend_of(device).make_stream(device);
  return shared;
}

bool SegmentStreams::share(ActorId a, ActorId b) const {
  const auto first = number_of_.find(a), second = number_of_.find(b);
  return first != number_of_.end() && second != number_of_.end() && first->second == second->second;
}

}  // namespace troupe
