#pragma once

#include <memory>

#include "troupe/actors/system/trace.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// Writes down when the work of one stream ran: on the host, and on a device with memory of its own when it did the
/// work that was launched, as lines of a trace beside those of the host. Used on the thread of the stream.
class DeviceTrace {
 public:
  /// Waits until the stream of such a device is idle, to know what time of the host its first moment is.
  DeviceTrace(std::shared_ptr<Trace> trace, Stream& stream);

  /// Work is about to run or to be launched.
  void begin();
  /// It has run, or has been launched. `work` says what it is, without its times; those of a device are known once it
  /// has done the work.
  void end(Trace::Event work);

 private:
  void end_on_device(Trace::Event work);

  std::shared_ptr<Trace> trace_;
  Stream& stream_;
  bool is_device_;
  Event first_, begin_on_device_;
  Trace::Clock::time_point first_time_, begin_;
};

}  // namespace troupe
