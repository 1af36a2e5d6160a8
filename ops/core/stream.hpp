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

/// A point in the work of a stream. The event is done once all work launched before it is. An event is two pointers
/// wide; copies stand for the same point. Thread-safe.
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
    /// Blocks until done. Returns false if the limit passed first.
    virtual bool wait_for(std::chrono::nanoseconds limit) = 0;
    /// Calls `callback` once when done: at once on the calling thread, or later on a thread of the backend, where the
    /// callback must not block.
    virtual void notify(std::function<void()> callback) = 0;
    /// The time from `earlier` to this event. Both are done and were recorded with their time on one device. Nothing if
    /// the times are not known.
    virtual std::optional<std::chrono::nanoseconds> time_since(const State& /*earlier*/) const { return std::nullopt; }
  };

  /// An event that is done without an error.
  Event() = default;
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool done() const { return state_ == nullptr || state_->done(); }
  /// Null, or the exception of the first work before the event that failed. Valid once done.
  std::exception_ptr error() const { return state_ == nullptr ? nullptr : state_->error(); }

  /// Blocks the calling thread until done. Rethrows the exception of the work before the event, if any. Throws Error
  /// after 10 minutes.
  void wait() const;
  /// Blocks the calling thread until done, for at most `limit`; returns false if the limit passed first. Rethrows the
  /// exception of the work before the event, if any.
  bool wait_for(std::chrono::nanoseconds limit) const;
  /// Calls `callback` once when done: at once on the calling thread, or later on a thread of the backend, where the
  /// callback must not block. The callback finds a failure in error().
  void notify(std::function<void()> callback) const;

  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// An event that is done and has failed with `error`.
Event failed_event(std::exception_ptr error);

/// Work that a stream has captured instead of running it. It can be launched any number of times. It refers to memory
/// by address and keeps no tensor: the tensors that it reads and writes must stay allocated.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
};

/// A sequence of work on one device. Kernels and copies launched on a stream run one after the other. Launching may
/// return before the work has run; host memory that the work uses must stay allocated until an event after it is done.
/// A failure is reported by the events after it, and later work on the stream is skipped. One thread at a time may use
/// a stream.
class Stream {
 public:
  explicit Stream(Device device) : device_(device) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device device() const { return device_; }

  /// The event after all work launched so far.
  virtual Event record() = 0;
  /// The event after all work launched so far, with the time at which the device reaches it, where the backend measures
  /// time. It costs more than record().
  virtual Event record_with_time() { return record(); }
  /// Lets work launched from now on begin after the event, which may belong to another stream or device.
  virtual void wait(const Event& event) = 0;
  /// Launches a copy of `bytes`. `from` and `to` do not overlap; each lies in host memory or on a device of this type.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Launches a write of zeros to memory of the device.
  virtual void zero(std::byte* memory, std::size_t bytes) = 0;

  /// True if work can be captured.
  virtual bool can_capture() const { return false; }
  /// Captures kernels, copies and writes of zeros, instead of running them, until end_capture(). Meanwhile record() and
  /// wait() must not be called.
  virtual void begin_capture() { refuse_capture(); }
  /// Begins a launch of the capture: all work captured up to the next call belongs to it. The launch waits only for the
  /// earlier launches with the given numbers, counted from 0 in the capture. A capture calls this for all of its
  /// launches or for none. Without calls, or on a stream that keeps the order, all work waits for the work captured
  /// before it.
  virtual void begin_launch(std::span<const std::size_t> /*waits_for*/) {}
  /// Ends the capture and returns its work. Throws Error if some work cannot be captured. The stream may be used again
  /// in either case.
  virtual std::shared_ptr<CapturedWork> end_capture() { refuse_capture(); }
  /// Launches work that a stream of the same device has captured.
  virtual void launch(const CapturedWork& /*work*/) { refuse_capture(); }

  /// The error of work launched earlier; null if none is known. A device may report such an error at any later call,
  /// which did not cause it.
  virtual std::exception_ptr fault() { return nullptr; }

 private:
  [[noreturn]] void refuse_capture() const;

  Device device_;
};

}  // namespace troupe
