#pragma once

#include <filesystem>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Reads an array that numpy.save wrote, gzipped or plain: float32, int32, int64, uint8 or bool (as uint8),
/// little-endian, in C order. float64 becomes float32. Throws Error that names the file if it is missing, damaged,
/// truncated, too long or of another kind.
Tensor read_npy(const std::filesystem::path& file);

}  // namespace troupe
