#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/device/event.hpp"

namespace troupe::cuda {

class CudaStream;

/// The state that the streams and tensors of one GPU share. Never destroyed. Thread-safe.
class DeviceState {
 public:
  explicit DeviceState(int index);

  RecentOps& recent_ops() { return recent_ops_; }
  EventPool& events() { return events_; }
  EventPool& timed_events() { return timed_events_; }
  MemoryPool& memory() { return memory_; }
  /// Returns events after all work launched so far on the device: one for each existing stream, and one for each
  /// destroyed stream whose work is not done. A stream that is being captured counts with its work before the capture.
  std::vector<Event> work_so_far();

  void add(CudaStream& stream);
  /// Removes a stream that is being destroyed. Its work may continue, and work_so_far() still includes it.
  void remove(CudaStream& stream) noexcept;

 private:
  RecentOps recent_ops_;
  EventPool events_, timed_events_;
  std::mutex mutex_;
  std::set<CudaStream*> streams_;
  std::vector<Event> ended_;  // the events after the last work of destroyed streams
  MemoryPool memory_;
};

/// The state of a GPU. Throws Error("device", "there is no cuda:N") if there is no such device.
DeviceState& device_state(Device device);
/// The number of GPUs that this process can use, counted by the first call. 0 if CUDA reports an error, for example
/// because there is no driver.
int device_count();

}  // namespace troupe::cuda
