#include "troupe/actors/control/root_cause.hpp"

namespace troupe {

namespace {

/// Whether a failure belongs to its step, so that a failure of an earlier step takes its place. Any other failure, such
/// as the loss of a process or an exception of the program, which names no actor, can be the cause of failed steps and
/// keeps its place.
bool is_of_step(const Failure& failure) {
  return (failure.kind == FailureKind::op_error || failure.kind == FailureKind::invalid_sample) &&
         !failure.actor.empty();
}

bool is_earlier(const Failure& failure, const Failure& than) {
  return is_of_step(failure) && is_of_step(than) && failure.step < than.step;
}

}  // namespace

FailurePtr root_cause(const FailurePtr& cause, const FailurePtr& later) {
  if (!cause) return later;
  return is_earlier(*later, *cause) ? later : cause;
}

}  // namespace troupe
