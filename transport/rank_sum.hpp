#pragma once

#include <cstdint>
#include <span>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Writes the sum of the inputs in rank order, output[i] = (inputs[0][first + i] + inputs[1][first + i]) + ..., for
/// `count` elements. All inputs must have the same dtype, in which the sum is computed. `output` may be the address of
/// element `first` of one of the inputs. Throws Error unless the dtype is float32, int32, int64, float16 or bfloat16.
void rank_sum(std::span<const Tensor> inputs, std::int64_t first, std::int64_t count, std::byte* output);

/// Adds `count` elements to `sum` if `add` is set, sum[i] += from[i], else copies them, sum[i] = from[i]. Throws Error
/// unless the dtype is float32, int32, int64, float16 or bfloat16.
void copy_or_add(DType dtype, std::int64_t count, const std::byte* from, std::byte* sum, bool add);

}  // namespace troupe
