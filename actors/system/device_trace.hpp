#pragma once

#include <memory>
#include <string>

#include "troupe/actors/system/trace.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// Writes down when a device did the work that one stream has launched, as lines of a trace beside those of the host.
/// Used on the thread of the stream.
class DeviceTrace {
 public:
  /// Waits until the stream is idle, to know what time of the host its first moment is.
  DeviceTrace(std::shared_ptr<Trace> trace, Stream& stream);

  /// Work is about to be launched.
  void begin();
  /// It has been launched: `work` says what it is; the times of its event are set once the device has done it.
  void end(Trace::Event work);

 private:
  std::shared_ptr<Trace> trace_;
  Stream& stream_;
  Event first_, begin_;
  Trace::Clock::time_point first_time_;
};

}  // namespace troupe
