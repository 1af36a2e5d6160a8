#pragma once

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// The exception for a wait that has reached its limit.
class TimedOut : public Error {
 public:
  using Error::Error;
};

}  // namespace troupe
