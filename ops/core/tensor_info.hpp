#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/core/shape.hpp"

namespace troupe {

/// Shape and dtype of a value; the leading size may be symbolic.
struct TensorInfo {
  Shape shape;
  DType dtype = DType::float32;

  bool operator==(const TensorInfo&) const = default;
};

/// A text such as `float32[B, 10]`.
std::string to_string(const TensorInfo& info);

/// The offsets of float32 tensors in a block that packs them, in elements, each a multiple of 16. One more entry at the
/// end is the size of the block.
std::vector<std::int64_t> pack_offsets(std::span<const TensorInfo> infos);

}  // namespace troupe
