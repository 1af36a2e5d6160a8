#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/cuda/device/check.hpp"
#include "troupe/ops/cuda/device/invalid_value.hpp"

namespace troupe::cuda {

/// The ops of the last kKept launches or captures on a GPU. The error text of a kernel's fault names them, because a
/// GPU does not report which kernel failed, and after a fault earlier work seems to have failed, too. Thread-safe.
class RecentOps {
 public:
  /// Adds an op that is about to be launched or captured. `op` must live until the process ends.
  void add(const char* op);
  /// Returns the names of the recent ops as one text, for example `matmul, relu`: oldest first, each name once.
  std::string names() const;

 private:
  static constexpr std::uint64_t kKept = 1024;

  mutable std::mutex mutex_;
  std::array<const char*, kKept> ops_{};
  std::uint64_t count_ = 0;
};

/// A pool of CUDA events of one device, all with or all without time stamps. Thread-safe.
class EventPool {
 public:
  enum class Times { with, without };

  /// `ops` has the recent ops of the device, and must outlive the pool.
  EventPool(int device, Times times, const RecentOps& ops) : device_(device), times_(times), ops_(ops) {}

  int device() const { return device_; }
  const RecentOps& recent_ops() const { return ops_; }
  /// Returns an event that is not in use. Throws Error if CUDA cannot make one.
  cudaEvent_t take();
  void give_back(cudaEvent_t event) noexcept;

 private:
  int device_;
  Times times_;
  const RecentOps& ops_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> spare_;
};

/// A CUDA event that has been recorded on a stream. The destructor gives it back to its pool.
class CudaEvent final : public Event::State, public std::enable_shared_from_this<CudaEvent> {
 public:
  /// Records an event of the pool on a stream. `note` must be the stream's note of invalid values: error() reports the
  /// invalid value in it. Throws Error if CUDA refuses.
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
  /// The stream's note of invalid values. Each stream has one of its own, so the note identifies the stream.
  const std::shared_ptr<const InvalidValueNote>& note() const { return note_; }

 private:
  cudaError_t query() const;

  EventPool& pool_;
  std::shared_ptr<const InvalidValueNote> note_;
  cudaEvent_t event_;
};

}  // namespace troupe::cuda
