#pragma once

#include <vector>

#include "troupe/ops/graph/op.hpp"

namespace troupe::ops_test {

/// Inputs or attributes that an op must refuse.
struct Misuse {
  const char* op;
  std::vector<TensorInfo> inputs;
  Attributes attributes = {};
};

/// At least one for every op of the library.
std::vector<Misuse> misuses();
/// Those of ops that do what several others do, a part of the above.
std::vector<Misuse> fused_misuses();

}  // namespace troupe::ops_test
