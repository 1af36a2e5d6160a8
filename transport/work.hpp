#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "troupe/ops/core/stream.hpp"
#include "troupe/transport/failure.hpp"
#include "troupe/transport/progress_listener.hpp"

namespace troupe {

/// A collective, send or receive in progress, seen from one process. The parameter `local` of its functions is the
/// index of a rank in Communicator::local(). Work on tensors of the host is used by one thread at a time; work on
/// devices is thread-safe.
///
/// After work on tensors of the host has failed and is destroyed, no other rank reads or writes its tensors. If work on
/// devices is destroyed before every step of its collective is launched, the group ends. A collective whose steps are
/// all launched completes even if its work is destroyed.
class Work {
 public:
  virtual ~Work() = default;

  /// Does every step for rank `local` that is possible now, without waiting. Returns true once the host has nothing
  /// left to do for the rank; when done(local) is done, too, the caller may use the tensors of the rank. Throws Error
  /// if the collective has failed, and Aborted if the group ended before every step was done or launched.
  virtual bool advance(std::size_t local = 0) = 0;
  /// Returns an event of the device of rank `local`. When it is done, the rank's tensors hold the result and no other
  /// rank reads them any more. Valid once advance(local) has returned true. Default: an event that is done.
  virtual const Event& done(std::size_t local = 0) const;

  /// Returns a text for errors that names the collective and the rank that it waits for, such as `all_reduce of 16
  /// float32: rank 1 has not come`, or on devices `all_reduce of 16 float32: rank 1 (cuda:1) has not come`.
  virtual std::string waits_for(std::size_t local = 0) const = 0;

  /// Sets the listener of rank `local`: it is called, on any thread, when advance(local) may have more to do. Call
  /// advance(local) after listen(), because the listener is not called for progress before listen(). The listener may
  /// only wake its owner: it must not call the communicator or a work. Default: does nothing, for work that never
  /// waits.
  virtual void listen(std::size_t /*local*/, ProgressListener /*listener*/) {}

  /// Blocks until the work is complete for the first rank of this process: advance(0) returns true and done(0) is done.
  /// Throws TimedOut with waits_for() if this takes longer than `limit`, and the exception of advance() if the
  /// collective fails.
  void wait(std::chrono::milliseconds limit);

  /// Sets the process, replica, actor and step of the failure that the other ranks get if advance() throws on this
  /// rank. `origin` must live as long as advance() may be called. Default: does nothing, because work of several ranks
  /// has no single origin.
  virtual void set_origin(const Failure* /*origin*/) {}
};

/// The work of one rank on tensors of the host.
class HostWork : public Work {
 public:
  void set_origin(const Failure* origin) override { origin_ = origin; }

 protected:
  /// Returns the failure that the exception being handled carries if it is Aborted, else the failure that set_origin()
  /// has set, with the text of the exception. Call it in a catch clause.
  FailurePtr failure_now() const { return root_failure(origin_ != nullptr ? *origin_ : Failure{}); }

 private:
  const Failure* origin_ = nullptr;
};

/// Work that is complete from the start.
class CompletedWork final : public Work {
 public:
  bool advance(std::size_t /*local*/) override { return true; }
  std::string waits_for(std::size_t /*local*/) const override { return "nothing"; }
};

}  // namespace troupe
