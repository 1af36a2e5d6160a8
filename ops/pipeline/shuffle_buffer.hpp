#pragma once

#include <cstdint>

#include "troupe/ops/pipeline/transform.hpp"

namespace troupe {

/// All rows of an input that may be read in order alone, in another order each epoch: each row is drawn from a buffer
/// of `buffer` rows, and the next row of the input takes its place. The order of rows is that of SampleOrder::drawn().
/// The position takes constant memory; continuing at a position repeats the draws before it, and reads the rows again
/// that the buffer held. Throws Error if `buffer` is below 1.
TransformPtr buffered_shuffle(TransformPtr input, std::int64_t buffer);

}  // namespace troupe
