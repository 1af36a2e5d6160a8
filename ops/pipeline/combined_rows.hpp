#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "troupe/ops/pipeline/transform.hpp"

// Transforms that read several inputs, or one input several times. Each input has random numbers of its own.

namespace troupe {

/// Rows with the fields of all inputs: row i has the fields of row i of each input. Ends with the shortest input.
/// Indexed if all inputs are. Throws Error if there is no input or two fields have one name.
TransformPtr zipped_rows(const std::vector<TransformPtr>& inputs);
/// The rows of the inputs, one input after the other. Indexed if all inputs are. Throws Error if there is no input or
/// the fields differ.
TransformPtr concatenated_rows(const std::vector<TransformPtr>& inputs);
/// The epochs epoch * times, epoch * times + 1, ... of the input, one after the other, as one epoch of `times` times
/// its rows. Throws Error if `times` is below 1 or above 2^31.
TransformPtr repeated_rows(TransformPtr input, std::int64_t times);

struct Interleaving {
  /// The number of pipelines that are read at one time.
  std::int64_t cycle = 4;
  /// The number of rows that are read from a pipeline before the next has its turn.
  std::int64_t block = 1;
};
/// Makes the pipeline of a row, such as the rows of the file that the row names. Any thread may call the function; it
/// must make equal pipelines for equal rows.
using PipelineOfRow = std::function<TransformPtr(const RowView& row)>;
/// The rows of the pipelines that a function makes of the rows of an input. Pipelines are read in turn; the pipeline of
/// the next row replaces one that has ended. Throws Error if an option is below 1. Reading throws Error if a pipeline
/// has other fields than `fields`.
TransformPtr interleaved_rows(TransformPtr input, RowFields fields, PipelineOfRow function, Interleaving options);

}  // namespace troupe
