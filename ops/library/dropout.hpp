#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// x [B, ...] with elements set to zero with probability `rate`, the others divided by 1 - rate: Srivastava and others,
/// "Dropout" (JMLR 2014). Which ones depends on `seed`, `stream` (give every dropout of a model one of its own), and
/// the step, the row in the whole batch, and the place in the row: not on the replica that has the row. `batch_info` is
/// the loader's. The rate is in [0, 0.999], in steps of
/// 2^-24.
Value dropout(Value x, double rate, std::uint64_t seed, std::int64_t stream, Value batch_info);

}  // namespace troupe
