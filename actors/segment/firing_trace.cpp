#include "troupe/actors/segment/firing_trace.hpp"

#include <utility>

#include "troupe/ops/core/backend.hpp"

namespace troupe {

FiringTrace::FiringTrace(std::shared_ptr<Trace> trace, Segment& segment) : trace_(std::move(trace)), segment_(segment) {
  auto& stream = segment.memory().stream();
  if (!backend_of(stream.device()).host_accessible()) device_trace_.emplace(trace_, stream);
}

void FiringTrace::begin() {
  if (device_trace_) device_trace_->begin();
  begin_ = Trace::Clock::now();
}

void FiringTrace::end(std::size_t first, std::size_t end, std::int64_t step) {
  const auto& tasks = segment_.tasks();
  const auto& actor = *tasks[first].actor;
  const auto name = end == first + 1 ? actor.name : actor.name + " to " + tasks[end - 1].actor->name;
  const auto device = to_string(actor.place.device);
  Trace::Event event{name, device, actor.replica, step, begin_, Trace::Clock::now()};
  if (device_trace_) {
    device_trace_->end(event);
    event.device = "host of " + device;
  }
  trace_->add(std::move(event));
}

}  // namespace troupe
