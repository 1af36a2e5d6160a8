#pragma once

#include "troupe/transport/failure.hpp"

namespace troupe {

/// Returns the root cause of a run that has failed with `cause`, which may be null, and then with `later`. It is
/// `cause` unless both belong to steps and that of `later` is earlier: loaders run ahead, so the failure of a later
/// step may be reported first.
FailurePtr root_cause(const FailurePtr& cause, const FailurePtr& later);

}  // namespace troupe
