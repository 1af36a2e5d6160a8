#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "troupe/ops/core/device.hpp"

namespace troupe {

/// A point in the work of a stream. The event is done once all work launched before it is complete or has failed. An
/// event is two pointers wide; a copy stands for the same point as the original. Thread-safe.
class Event {
 public:
  /// The interface by which a backend implements its events. Thread-safe.
  class State {
   public:
    virtual ~State() = default;
    /// True once the work before the event is complete or has failed.
    virtual bool done() const = 0;
    /// The exception of the first failed work before the event; null if no work failed. Valid once done() is true.
    virtual std::exception_ptr error() const = 0;
    /// Blocks until the event is done. Returns false if the limit passed first.
    virtual bool wait_for(std::chrono::nanoseconds limit) = 0;
    /// Calls `callback` once, when the event is done: at once on the calling thread, or later on a thread of the
    /// backend, where the callback must not block.
    virtual void notify(std::function<void()> callback) = 0;
    /// The time from `earlier` to this event. Both events must be done and come from record_with_time() of streams of
    /// one device. Returns nothing if the backend does not measure time.
    virtual std::optional<std::chrono::nanoseconds> time_since(const State& /*earlier*/) const { return std::nullopt; }
  };

  /// An event that is done without an error.
  Event() = default;
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool done() const { return state_ == nullptr || state_->done(); }
  /// The exception of the first failed work before the event; null if no work failed. Valid once done() is true.
  std::exception_ptr error() const { return state_ == nullptr ? nullptr : state_->error(); }

  /// Blocks the calling thread until the event is done. Rethrows error() if it is not null. Throws Error if the event
  /// is not done after 10 minutes.
  void wait() const;
  /// Blocks the calling thread until the event is done, for at most `limit`. Returns false if the limit passed first.
  /// Rethrows error() if the event is done and error() is not null.
  bool wait_for(std::chrono::nanoseconds limit) const;
  /// Calls `callback` once, when the event is done: at once on the calling thread, or later on a thread of the backend,
  /// where the callback must not block. The callback finds a failure in error().
  void notify(std::function<void()> callback) const;

  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// An event that is done and has failed with `error`.
Event failed_event(std::exception_ptr error);

/// Work that a stream has recorded instead of running it. Stream::launch() runs the work, any number of times. Captured
/// work refers to memory by address and keeps no tensor alive: the tensors that the work reads and writes must stay
/// allocated.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
};

/// A sequence of work on one device. Kernels and copies launched on a stream run one after the other. Launching may
/// return before the work has run; host memory that the work uses must stay allocated until an event after the work is
/// done. After a failure all later events of the stream report the failure, and later work on the stream is skipped.
/// Only one thread at a time may use a stream.
class Stream {
 public:
  explicit Stream(Device device) : device_(device) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device device() const { return device_; }

  /// Returns an event that is done once all work launched so far on this stream is complete or has failed.
  virtual Event record() = 0;
  /// Returns an event as record() does. If the backend measures time, the event also has the time at which the device
  /// reaches it, for State::time_since(). Costs more than record().
  virtual Event record_with_time() { return record(); }
  /// Makes work that is launched from now on begin only after the event is done. The event may belong to another stream
  /// or device. Does not block the calling thread.
  virtual void wait(const Event& event) = 0;
  /// Launches a copy of `bytes` bytes. `from` and `to` must not overlap; each must lie in host memory or on a device of
  /// the stream's type.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Launches a write of `bytes` zero bytes to memory of the stream's device.
  virtual void zero(std::byte* memory, std::size_t bytes) = 0;

  /// True if the stream can capture work.
  virtual bool can_capture() const { return false; }
  /// Begins a capture: until end_capture(), kernels, copies and writes of zeros are captured instead of run. record()
  /// and wait() must not be called meanwhile. Throws Error if the stream cannot capture work.
  virtual void begin_capture() { refuse_capture(); }
  /// Begins a launch, a group of captured work: all work captured up to the next call of this function, or to
  /// end_capture(), belongs to the launch. The launch waits only for the earlier launches whose numbers `waits_for`
  /// lists; launches are counted from 0 in each capture. A capture that calls this function must call it before its
  /// first work. Without calls, or if the backend does not override this function, work waits for all work captured
  /// before it.
  virtual void begin_launch(std::span<const std::size_t> /*waits_for*/) {}
  /// Ends the capture and returns the captured work. Throws Error if some work cannot be captured. The stream may be
  /// used again whether or not the function throws.
  virtual std::shared_ptr<CapturedWork> end_capture() { refuse_capture(); }
  /// Launches work that a stream of the same device has captured. Throws Error if the stream cannot capture work.
  virtual void launch(const CapturedWork& /*work*/) { refuse_capture(); }

  /// The error of work that was launched earlier on this stream; null if no error is known. A device may report such an
  /// error at any later call, even if that call did not cause the error.
  virtual std::exception_ptr fault() { return nullptr; }

 private:
  [[noreturn]] void refuse_capture() const;

  Device device_;
};

}  // namespace troupe
