#pragma once

#include "troupe/ops/pipeline/transform.hpp"

namespace troupe {

/// The rows of epoch 0 of an input in every epoch, so that random numbers of the input are the same in all epochs. Rows
/// are kept in memory once they have been read, for each seed; all streams of the transform share them. A row that an
/// exception has interrupted is read again.
TransformPtr cached_rows(TransformPtr input);

}  // namespace troupe
