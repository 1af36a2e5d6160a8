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

/// A point in the work of a stream: it is done once everything launched before it is. Two pointers wide; copies stand
/// for the same point. Thread-safe.
class Event {
 public:
  /// The backend's side of an event. Thread-safe.
  class State {
   public:
    virtual ~State() = default;
    /// True once the work is complete or has failed.
    virtual bool done() const = 0;
    /// Null, or the exception of the first work before the event that failed. Valid once done.
    virtual std::exception_ptr error() const = 0;
    /// Blocks until done; false if the limit came first.
    virtual bool wait_for(std::chrono::nanoseconds limit) = 0;
    /// Calls `callback` once when done: at once on this thread, or later on a thread of the backend, where it must not
    /// block.
    virtual void notify(std::function<void()> callback) = 0;
    /// Of two events that were recorded with their time on one device and are done: from `earlier` to this. Nothing if
    /// the times are not known.
    virtual std::optional<std::chrono::nanoseconds> time_since(const State& /*earlier*/) const { return std::nullopt; }
  };

  /// An event that is done.
  Event() = default;
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool done() const { return state_ == nullptr || state_->done(); }
  /// Null, or the exception with which the work before the event failed. Valid once done.
  std::exception_ptr error() const { return state_ == nullptr ? nullptr : state_->error(); }

  /// Blocks the calling thread until done. Rethrows the exception of the work before the event, if any.
  void wait() const;
  /// As above, for at most `limit`; false if it passed.
  bool wait_for(std::chrono::nanoseconds limit) const;
  /// Calls `callback` once when done: at once on this thread, or later on a thread of the backend, where it must not
  /// block. The callback asks error().
  void notify(std::function<void()> callback) const;

  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// An event that is done, with a failure.
Event failed_event(std::exception_ptr error);

/// Work that a stream has captured instead of running it, to be launched any number of times. It keeps no tensor: what
/// it works on must stay where it was.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
};

/// A sequence of work on one device: kernels and copies launched on it run one after the other. Used by one thread at a
/// time. Work may still be running when launching returns; host memory that it touches must stay allocated until an
/// event after it is done. A failure is reported by the events after it, and later work on the stream is skipped.
class Stream {
 public:
  explicit Stream(Device device) : device_(device) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device device() const { return device_; }

  /// The point after everything launched so far.
  virtual Event record() = 0;
  /// As above, with the time at which the device comes there; dearer.
  virtual Event record_with_time() { return record(); }
  /// Work launched from now on begins after the event, which may be of another stream or device.
  virtual void wait(const Event& event) = 0;
  /// Launches a copy of `bytes` that do not overlap; each side is memory of the host or of a
  /// device of this kind.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Launches the zeroing of memory of the device.
  virtual void zero(std::byte* memory, std::size_t bytes) = 0;

  /// True if work can be captured.
  virtual bool can_capture() const { return false; }
  /// Until end_capture() kernels, copies and zeroing are captured and not run; record() and wait() must not be called.
  virtual void begin_capture() { refuse_capture(); }
  /// While it captures: a launch begins, to which belongs what is captured up to the next call. It waits for nothing
  /// but the earlier launches with these numbers, counted from 0 since the capture began; calls are made for all
  /// launches of a capture or for none. Without them, or on a stream that keeps the order, everything waits for what
  /// was captured before.
  virtual void begin_launch(std::span<const std::size_t> /*waits_for*/) {}
  /// Throws Error if what was launched cannot be captured; the stream may be used again in either case.
  virtual std::shared_ptr<CapturedWork> end_capture() { refuse_capture(); }
  /// Launches what a stream of the same device has captured.
  virtual void launch(const CapturedWork& /*work*/) { refuse_capture(); }

  /// The error of work launched earlier, which a device may tell at any later call as if that were to blame; null if
  /// none is known.
  virtual std::exception_ptr fault() { return nullptr; }

 private:
  [[noreturn]] void refuse_capture() const;

  Device device_;
};

}  // namespace troupe
