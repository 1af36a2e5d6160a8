#pragma once

#include <filesystem>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Reads a file of unsigned bytes in the IDX format of the MNIST family, gzipped or plain, with `rank` axes (3 for
/// images, 1 for labels), and returns a uint8 tensor. Uses memory for the bytes that the file holds, even if the sizes
/// in the header are larger. Throws Error that names the file if it is missing, damaged, truncated or too long, or has
/// another element type or number of axes.
Tensor read_idx(const std::filesystem::path& file, std::size_t rank);

}  // namespace troupe
