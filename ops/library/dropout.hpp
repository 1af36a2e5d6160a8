#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Sets every element of x to zero with probability `rate`, and divides it by 1 - rate otherwise: Srivastava and
/// others, "Dropout" (JMLR 2014). x must be [B, ...] of a float dtype. The choice depends on `seed`, `stream`, the
/// step, the row in the whole batch and the position in the row, not on the replica that holds the row. Every dropout
/// of a model must have a stream of its own, a number of 32 bits. The rate must be in [0, 0.999], and is rounded down
/// to a multiple of 2^-24. `batch_info` must be GraphBuilder::batch_info().
Value dropout(Value x, double rate, std::uint64_t seed, std::int64_t stream, Value batch_info);

}  // namespace troupe
