#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Throws Error if a forward graph mixes rows of a batch that several replicas compute apart: if a result for rows, or
/// the next value of a buffer, depends on a sum or on rows of one replica alone, such as those of reduce_sum over the
/// batch or of slice_rows. The error names the node. A value that all_reduce or all_gather has collected from all
/// replicas may be used. A loss over pairs of rows, such as a contrastive loss, needs one replica.
void expect_rows_apart(const Graph& graph);

}  // namespace troupe
