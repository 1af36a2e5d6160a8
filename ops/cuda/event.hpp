#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/ops/core/event_poller.hpp"
#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/cuda/check.hpp"
#include "troupe/ops/cuda/invalid_value.hpp"
#include "troupe/ops/cuda/recent_ops.hpp"

namespace troupe::cuda {

/// The events of one device, made once and used again: with their times, or without. Thread-safe.
class EventPool {
 public:
  enum class Times { with, without };

  EventPool(int device, Times times) : device_(device), times_(times) {}

  int device() const { return device_; }
  /// Throws Error if no event can be made.
  cudaEvent_t take();
  void give_back(cudaEvent_t event) noexcept;

 private:
  int device_;
  Times times_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> spare_;
};

/// What is known of the work before an event: who may have failed in it.
struct WorkBefore {
  std::shared_ptr<const InvalidValueNote> invalid_values;
  std::shared_ptr<const RecentOps> ops;  // of the stream, and of no other
  std::uint64_t launched = 0;            // number of ops
};

/// A recorded event of CUDA.
class CudaEvent final : public Event::State, public std::enable_shared_from_this<CudaEvent> {
 public:
  /// Records an event on a stream. Throws Error if CUDA refuses.
  CudaEvent(EventPool& pool, cudaStream_t stream, WorkBefore work);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  bool done() const override;
  std::exception_ptr error() const override;
  bool wait_for(std::chrono::nanoseconds limit) override;
  void notify(std::function<void()> callback) override;
  std::optional<std::chrono::nanoseconds> time_since(const State& earlier) const override;

  cudaEvent_t handle() const { return event_; }
  const WorkBefore& work() const { return work_; }

 private:
  cudaError_t query() const;

  EventPool& pool_;
  WorkBefore work_;
  cudaEvent_t event_;
};

/// Looks at the events of all devices that somebody on the host waits for. Never destroyed.
EventPoller& event_poller();

}  // namespace troupe::cuda
