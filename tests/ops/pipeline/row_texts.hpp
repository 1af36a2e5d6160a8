#pragma once

#include <string>
#include <vector>

#include "troupe/ops/pipeline/pipeline.hpp"

namespace troupe::ops_test {

/// A row as text: the shape and the elements of each field, such as `[2]: 3 4; []: 7`.
std::string text_of(const Row& row);

/// The rows of an epoch, as texts.
std::vector<std::string> rows_of(const Pipeline& pipeline, RowEpoch epoch = {});

/// The rows that a reader has left, as texts.
std::vector<std::string> rows_left(PipelineReader& reader);

/// A pipeline with the rows of another one that is not indexed.
Pipeline in_order_only(const Pipeline& pipeline);

/// `rows` rows with a field "n", int32 [], the number of the row.
Pipeline numbers(std::int64_t rows);

/// `rows` rows with a field "n", the number of the row, and a field "x", float32 [?], with the number up to 6 times.
Pipeline words(std::int64_t rows);

}  // namespace troupe::ops_test
