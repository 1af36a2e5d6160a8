#pragma once

#include <filesystem>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Reads an array that numpy.save wrote, gzipped or plain. The elements must be little-endian and in C order. float32,
/// int32, int64 and uint8 keep their dtype; bool becomes uint8, and float64 becomes float32. Throws Error that names
/// the file if it is missing, damaged, truncated or too long, or has another element type or order or more than
/// Shape::kMaxRank axes.
Tensor read_npy(const std::filesystem::path& file);

}  // namespace troupe
