#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/device/event.hpp"

namespace troupe::cuda {

class CudaStream;

/// What the streams and tensors of one GPU share. Never destroyed. Thread-safe.
class DeviceState {
 public:
  explicit DeviceState(int index);

  int index() const { return index_; }
  RecentOps& recent_ops() { return recent_ops_; }
  EventPool& events() { return events_; }
  EventPool& timed_events() { return timed_events_; }
  MemoryPool& memory() { return memory_; }
  /// Events after all work launched so far on every stream of the device that lives.
  std::vector<Event> work_so_far();

  void add(CudaStream& stream);
  /// The stream is about to end; its work may go on.
  void remove(CudaStream& stream) noexcept;

 private:
  int index_;
  RecentOps recent_ops_;
  EventPool events_, timed_events_;
  std::mutex mutex_;
  std::set<CudaStream*> streams_;
  std::vector<Event> ended_;  // the last work of streams that are gone
  MemoryPool memory_;
};

/// The state of a GPU. Throws Error("device", "there is no cuda:N") if there is no such device.
DeviceState& device_state(Device device);
/// GPUs that this process can use: 0 without a driver.
int device_count();

}  // namespace troupe::cuda
