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

inline TensorInfo f32(const Shape& shape) {
  return {shape, DType::float32};
}
inline TensorInfo i32(const Shape& shape) {
  return {shape, DType::int32};
}
inline TensorInfo i64(const Shape& shape) {
  return {shape, DType::int64};
}

/// At least one for every op of the library.
std::vector<Misuse> misuses();
/// Parts of the above: of updates and what they need, and of ops that do what several others do.
std::vector<Misuse> update_misuses();
std::vector<Misuse> fused_misuses();

}  // namespace troupe::ops_test
