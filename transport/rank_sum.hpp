#pragma once

#include <cstdint>
#include <span>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// output[i] = ((inputs[0][first + i] + inputs[1][first + i]) + ...) for `count` elements. The output may be a part of
/// one of the inputs at the same place. Throws Error for a dtype that cannot be summed.
void rank_sum(std::span<const Tensor> inputs, std::int64_t first, std::int64_t count, std::byte* output);

/// sum[i] = from[i], or sum[i] += from[i]. Throws Error for a dtype that cannot be summed.
void copy_or_add(DType dtype, std::int64_t count, const std::byte* from, std::byte* sum, bool add);

}  // namespace troupe
