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

/// At least one misuse of every op of the library.
std::vector<Misuse> misuses();
/// The misuses of updates and the ops that prepare them. They are part of misuses().
std::vector<Misuse> update_misuses();
/// The misuses of fused ops. They are part of misuses().
std::vector<Misuse> fused_misuses();

}  // namespace troupe::ops_test
