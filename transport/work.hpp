#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "troupe/ops/core/stream.hpp"
#include "troupe/transport/failure.hpp"
#include "troupe/transport/progress_listener.hpp"

namespace troupe {

/// A collective on its way, seen from one process. `local` is the number of a rank among those of its communicator in
/// this process. Work on the host is used by one thread at a time; work on devices is thread-safe.
///
/// Once failed work on tensors of the host is destroyed, no other rank reads or writes these tensors. A collective of
/// devices that is dropped before all of it is launched ends its group; afterwards the work is not needed any more.
class Work {
 public:
  virtual ~Work() = default;

  /// Does what the process can do now for its rank, without waiting. True once the rest is up to the device of the
  /// rank: the rank's tensors are free again when done(local) is done. Throws Error if the collective has failed, and
  /// Aborted if the group ended before everything was launched.
  virtual bool advance(std::size_t local = 0) = 0;
  /// An event of the rank's device. When it is done, the rank's tensors hold the result and no other rank reads them
  /// any more. Valid once advance(local) has returned true. Default: an event that is done.
  virtual const Event& done(std::size_t local = 0) const;

  /// A text for the user: `all_reduce of 16 float32: rank 1 has not come`, or with devices
  /// `all_reduce of 16 float32: rank 1 (cuda:1) has not come`.
  virtual std::string waits_for(std::size_t local = 0) const = 0;

  /// Names the listener of a rank: it is called, on any thread, when advance(local) may have more to do. The caller
  /// advances after this: that call sees all progress before, and the listener hears of all progress after it. The
  /// listener only wakes its owner: it must not call the communicator or a work. Default: advance() never waits.
  virtual void listen(std::size_t /*local*/, ProgressListener /*listener*/) {}

  /// Advances the first local rank until it is complete. Throws Error that says what is missing after `limit`.
  void wait(std::chrono::milliseconds limit);

  /// The actor that does this work, for the failure that the other ranks get if advance() throws on this one. It must
  /// live as long as the work is advanced. Works of several ranks have no origin.
  virtual void set_origin(const Failure* /*origin*/) {}
};

/// The work of one rank on tensors of the host.
class HostWork : public Work {
 public:
  void set_origin(const Failure* origin) override { origin_ = origin; }

 protected:
  /// The failure of the exception that is being handled; that of the origin if the exception carries none.
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
