#pragma once

#include <memory>

#include "troupe/actors/system/trace.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// Records when the work of one stream ran, by adding events to a Trace. On a device with memory of its own, each piece
/// of work gets two events: its launch on the host, and its run on the device. Used on the thread that uses the stream.
class DeviceTrace {
 public:
  /// On a device with memory of its own, waits until the stream is idle, to relate the clock of the device to the clock
  /// of the host. `stream` must outlive this object.
  DeviceTrace(std::shared_ptr<Trace> trace, Stream& stream);

  /// Called before work runs or is launched.
  void begin();
  /// Called when the work has run or has been launched. `work` is the event to add, without times. The event of the run
  /// on the device is added once the device has run the work, if the device measures times.
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
