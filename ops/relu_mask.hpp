#pragma once

#include <cstdint>

namespace troupe {

/// Bytes of one row of a relu's mask: a bit for each column, the first one the lowest of the first byte, in whole
/// groups of 128 bits, as libraries of products on GPUs want it. What fills up the last group is not defined.
constexpr std::int64_t relu_mask_bytes(std::int64_t columns) {
  return (columns + 127) / 128 * 16;
}

}  // namespace troupe
