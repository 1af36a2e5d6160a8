#pragma once

#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe::testing {

/// Throws Error unless the condition holds: for threads of a test, on which Catch's assertions must not run.
inline void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("test", what);
}

}  // namespace troupe::testing
