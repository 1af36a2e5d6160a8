#pragma once

#include <chrono>
#include <string>

#include "troupe/transport/failure.hpp"

namespace troupe {

/// A collective on its way, seen from one rank. Used by one thread at a time.
class Work {
 public:
  virtual ~Work() = default;

  /// Does what this rank can do now, without waiting. True once the collective is complete on this rank, which means
  /// that its tensors are free again. Throws Error if the collective has failed; once the failed work is destroyed,
  /// nobody reads or writes its tensors.
  virtual bool advance() = 0;

  /// What this rank waits for, for people: `all_reduce of 16 float32: rank 1 has not come`.
  virtual std::string waits_for() const = 0;

  /// Advances until complete. Throws Error that says what is missing after `limit`.
  void wait(std::chrono::milliseconds limit);

  /// Who does this work, for the failure that the other ranks get if advance() throws on this one. Must live as long as
  /// the work is advanced.
  void set_origin(const Failure* origin) { origin_ = origin; }

 protected:
  /// The exception that is being handled, as a failure of the origin.
  FailurePtr failure_now() const { return current_failure(origin_ != nullptr ? *origin_ : Failure{}); }

 private:
  const Failure* origin_ = nullptr;
};

/// Work that is complete from the start.
class CompletedWork final : public Work {
 public:
  bool advance() override { return true; }
  std::string waits_for() const override { return "nothing"; }
};

}  // namespace troupe
