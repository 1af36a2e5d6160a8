#pragma once

#include <filesystem>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Reads an array that numpy.save wrote, gzipped or plain, in C or Fortran order, with little-endian or big-endian
/// elements. float32, int32, int64 and uint8 keep their dtype. float16 and float64 become float32; int8, int16 and
/// uint16 become int32; uint32 and uint64 become int64; bool becomes uint8. Throws Error that names the file if it is
/// missing, damaged, truncated or too long, does not fit into memory, has another element type or more than
/// Shape::kMaxRank axes, or has a finite float64 or a uint64 that is outside the range of its dtype here.
Tensor read_npy(const std::filesystem::path& file);

}  // namespace troupe
