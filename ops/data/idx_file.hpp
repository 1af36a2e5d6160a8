#pragma once

#include <filesystem>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Reads a file of unsigned bytes in the IDX format of the MNIST family, gzipped or plain, with `rank` axes (3 for
/// images, 1 for labels), and returns a uint8 tensor. Memory grows with the bytes that the file holds, not with the
/// sizes in the header. Throws Error that names the file if it is missing, truncated, too long or of another kind.
Tensor read_idx(const std::filesystem::path& file, std::size_t rank);

}  // namespace troupe
