#pragma once

#include <utility>

#include "troupe/transport/failure.hpp"

namespace troupe {

/// The exception by which a task, or a PortActor in fire(), ends the run once its work of the step is done. It fails no
/// step, unlike any other exception: sources stop at a common step and the steps that have begun are completed. The run
/// then fails with this cause. The actor fills in the rank.
class EndRun final : public Error {
 public:
  explicit EndRun(Failure failure) : Error("run", failure.what), failure_(std::move(failure)) {}

  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace troupe
