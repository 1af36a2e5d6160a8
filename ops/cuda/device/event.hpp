#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/ops/core/event_poller.hpp"
#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/cuda/device/check.hpp"
#include "troupe/ops/cuda/device/invalid_value.hpp"
#include "troupe/ops/cuda/device/recent_ops.hpp"

namespace troupe::cuda {

/// The events of one device, made once and used again: with their times, or without. Thread-safe.
class EventPool {
 public:
  enum class Times { with, without };

  /// `ops` are those of the device.
  EventPool(int device, Times times, const RecentOps& ops) : device_(device), times_(times), ops_(ops) {}

  int device() const { return device_; }
  const RecentOps& recent_ops() const { return ops_; }
  /// Throws Error if no event can be made.
  cudaEvent_t take();
  void give_back(cudaEvent_t event) noexcept;

 private:
  int device_;
  Times times_;
  const RecentOps& ops_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> spare_;
};

/// A recorded event of CUDA.
class CudaEvent final : public Event::State, public std::enable_shared_from_this<CudaEvent> {
 public:
  /// Records an event on a stream, whose note it is. Throws Error if CUDA refuses.
  CudaEvent(EventPool& pool, cudaStream_t stream, std::shared_ptr<const InvalidValueNote> note);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  bool done() const override;
  std::exception_ptr error() const override;
  bool wait_for(std::chrono::nanoseconds limit) override;
  void notify(std::function<void()> callback) override;
  std::optional<std::chrono::nanoseconds> time_since(const State& earlier) const override;

  cudaEvent_t handle() const { return event_; }
  /// The note of its stream, which identifies the stream.
  const std::shared_ptr<const InvalidValueNote>& note() const { return note_; }

 private:
  cudaError_t query() const;

  EventPool& pool_;
  std::shared_ptr<const InvalidValueNote> note_;
  cudaEvent_t event_;
};

/// Looks at the events of all devices that somebody on the host waits for. Never destroyed.
EventPoller& event_poller();

}  // namespace troupe::cuda
