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

/// `float32[B, 10]`.
std::string to_string(const TensorInfo& info);

/// The offset of each float32 tensor in a block that packs them, in elements. The last entry is the size of the block.
std::vector<std::int64_t> pack_offsets(std::span<const TensorInfo> infos);

}  // namespace troupe
