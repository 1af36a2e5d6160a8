#pragma once

#include <filesystem>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Reads an array that numpy.save wrote, gzipped or plain, little-endian and in C order. The dtype may be float32,
/// int32, int64 or uint8; bool becomes uint8, and float64 becomes float32. Throws Error that names the file if it is
/// missing, damaged, truncated, too long or of another kind.
Tensor read_npy(const std::filesystem::path& file);

}  // namespace troupe
