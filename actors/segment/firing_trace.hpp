#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "troupe/actors/segment/segment.hpp"
#include "troupe/actors/system/device_trace.hpp"
#include "troupe/actors/system/trace.hpp"

namespace troupe {

/// Writes down when the tasks of one segment ran: on the host, and on a device when it did the work that was launched.
class FiringTrace {
 public:
  FiringTrace(std::shared_ptr<Trace> trace, Segment& segment);

  /// Tasks are about to run.
  void begin();
  /// The tasks from `first` to before `end` have run in this step.
  void end(std::size_t first, std::size_t end, std::int64_t step);

 private:
  std::shared_ptr<Trace> trace_;
  const Segment& segment_;
  std::optional<DeviceTrace> device_trace_;  // none on the host
  Trace::Clock::time_point begin_;
};

}  // namespace troupe
