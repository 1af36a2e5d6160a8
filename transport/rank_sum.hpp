#pragma once

#include <cstdint>
#include <span>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Writes output[i] = (inputs[0][first + i] + inputs[1][first + i]) + ... for `count` elements. `output` may be the
/// address of element `first` of one of the inputs. Throws Error for a dtype that cannot be summed.
void rank_sum(std::span<const Tensor> inputs, std::int64_t first, std::int64_t count, std::byte* output);

/// Adds `count` elements to `sum` if `add` is set, sum[i] += from[i], else copies them, sum[i] = from[i]. Throws Error
/// for a dtype that cannot be summed.
void copy_or_add(DType dtype, std::int64_t count, const std::byte* from, std::byte* sum, bool add);

}  // namespace troupe
