#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/cuda/device/captured_launches.hpp"
#include "troupe/ops/cuda/device/device_state.hpp"

namespace troupe::cuda {

/// A CUDA stream that does not wait for the legacy default stream. One thread at a time may use the stream, but any
/// thread may call last_launched(). record(), record_with_time(), wait(), copy() and zero() never throw: after a
/// failure of the device, or of work that the stream waits for, all later events of the stream report that failure.
class CudaStream final : public Stream {
 public:
  /// Throws Error if there is no such device, or CUDA cannot make a stream.
  explicit CudaStream(Device device);
  /// Does not wait for launched work, which continues.
  ~CudaStream() override;

  Event record() override;
  Event record_with_time() override;
  void wait(const Event& event) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void zero(std::byte* memory, std::size_t bytes) override;

  bool can_capture() const override { return true; }
  void begin_capture() override;
  void begin_launch(std::span<const std::size_t> waits_for) override;
  std::shared_ptr<CapturedWork> end_capture() override;
  void launch(const CapturedWork& work) override;
  std::exception_ptr fault() override { return last_launched().error(); }

  /// Returns the handle to launch work on. Must be called for every launch, because it drops the event that record()
  /// would otherwise return again.
  cudaStream_t handle() {
    recorded_.reset();
    return handle_;
  }
  /// Returns the address, on the device, of the note to which kernels report invalid values. Every event of the stream
  /// reports the first invalid value.
  InvalidValue* invalid_values() const { return note_->on_device(); }
  /// Must be called before the kernels of an op are launched. Makes the device current, and records the op's name for
  /// the error text of a kernel's fault. Throws the stream's failure, if there is one.
  void note_launch(const char* op);

  /// Returns an event after all work launched so far, or, during a capture, after the work launched before the capture.
  /// Thread-safe.
  Event last_launched();

 private:
  Event record_in(EventPool& pool) noexcept;
  void use_device() const;
  std::exception_ptr failure_now() const noexcept;
  std::exception_ptr failure() const;
  /// Throws `failure_` if it is set.
  void expect_no_failure() const;
  template <class Call>
  void attempt(Call call) noexcept;

  DeviceState& state_;
  std::shared_ptr<const InvalidValueNote> note_;
  cudaStream_t handle_ = nullptr;
  std::optional<Event> recorded_;  // the event after all work launched so far; none if it is not recorded yet
  CapturedLaunches captured_;
  mutable std::mutex failure_mutex_;
  std::exception_ptr failure_;  // failure of the stream or of work that it waits for; nothing is launched after it
  std::mutex capture_mutex_;    // guards the members below
  bool capturing_ = false;
  Event before_capture_;
};

}  // namespace troupe::cuda
