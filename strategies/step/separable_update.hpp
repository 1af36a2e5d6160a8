#pragma once

#include "troupe/strategies/step/split_training.hpp"

namespace troupe {

/// Throws Error if the updates of a split training cannot be made apart: the optimizer needs the gradients of several
/// shards together, or all rows of a looked-up parameter in every step. `place` is the optimizer in the text of the
/// error.
void expect_separable(const SplitTraining& split, const char* place = "optimizer");

}  // namespace troupe
