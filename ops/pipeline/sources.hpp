#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/pipeline/transform.hpp"

namespace troupe {

/// Rows from arrays [N, ...]; row i has element i of each array. Throws Error if there is no array or the numbers of
/// rows differ.
TransformPtr rows_of_arrays(const std::vector<std::pair<std::string, Tensor>>& arrays);

/// Makes row `index`. Any thread may call the function, several at a time.
using RowFunction = std::function<void(std::int64_t index, RowWriter& row)>;
/// `rows` rows that a function makes, with their numbers. `name` names the rows in errors.
TransformPtr rows_of_function(std::string name, RowFields fields, std::int64_t rows, RowFunction function);

/// Makes a stream that reads from the first row on. The streams of equal epochs must give the same rows.
using OpenRows = std::function<std::unique_ptr<RowStream>(const RowEpoch& epoch)>;
/// The rows of a user's streams, which are read in order alone.
TransformPtr rows_of_streams(std::string name, RowFields fields, OpenRows open);

}  // namespace troupe
