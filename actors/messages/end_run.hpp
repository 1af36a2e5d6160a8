#pragma once

#include <utility>

#include "troupe/transport/failure.hpp"

namespace troupe {

/// The exception by which a task, or PortActor::fire(), ends the run once the outputs of the step are computed. Unlike
/// any other exception it fails no step: sources stop at a common step, and the steps that have begun are completed.
/// The run then fails with failure(), in which the actor fills in the rank of its process.
class EndRun final : public Error {
 public:
  explicit EndRun(Failure failure) : Error("run", failure.what), failure_(std::move(failure)) {}

  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace troupe
