#pragma once

#include <memory>

#include "troupe/actors/system/trace.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// Records in a trace when the work of one stream ran. A device with memory of its own has two lines: the host launched
/// the work, and the device ran it. Used on the thread of the stream.
class DeviceTrace {
 public:
  /// On a device with memory of its own, waits until the stream is idle, to relate the clock of the device to the clock
  /// of the host.
  DeviceTrace(std::shared_ptr<Trace> trace, Stream& stream);

  /// Called before work runs or is launched.
  void begin();
  /// Called when the work has run or has been launched. `work` describes it, without times. The line of the device is
  /// added once the device has run the work.
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
