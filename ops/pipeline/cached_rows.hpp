#pragma once

#include "troupe/ops/pipeline/transform.hpp"

namespace troupe {

/// The rows of epoch 0 of an input in every epoch, so that random numbers of the input are the same in all epochs. Rows
/// are kept in memory once they have been read, for each seed; all streams of the transform share them. The input is
/// read without an executor, on the thread that needs the row. After an exception, the input is opened again.
TransformPtr cached_rows(TransformPtr input);

}  // namespace troupe
