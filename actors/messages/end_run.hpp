#pragma once

#include <utility>

#include "troupe/transport/failure.hpp"

namespace troupe {

/// Thrown by a task, or by a PortActor in fire(), whose work of this step is done but which has found a reason to end
/// the run. Unlike any other exception it fails no step: sources stop at a common step, the steps that have begun are
/// completed, and the run has then failed with this cause. The rank is filled in by the actor.
class EndRun final : public Error {
 public:
  explicit EndRun(Failure failure) : Error("run", failure.what), failure_(std::move(failure)) {}

  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace troupe
