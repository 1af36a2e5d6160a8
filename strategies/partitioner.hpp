#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// The rows of a parameter along which it may be split: a scalar has one.
std::int64_t rows_of(const TensorInfo& parameter);

/// How the rows of parameters are split into shards.
struct Partitioner {
  /// The number of shards: from 1 to as many as there are rows.
  std::function<std::int64_t(const TensorInfo& parameter)> shards_of;
  /// A model is refused if none of its parameters has so many rows.
  std::int64_t least_rows = 1;
};

/// Every parameter is one shard.
Partitioner unpartitioned();
/// So many shards; as many as there are rows where those are fewer, but not everywhere. Throws Error if `shards` is
/// below 1.
Partitioner fixed_shards(std::int64_t shards);
/// As many shards as there are parts of `bytes`, the last one perhaps smaller, but at most `most`. Throws Error if one
/// of them is below 1.
Partitioner min_shard_size(std::int64_t bytes, std::int64_t most);
/// As few shards as have at most `bytes` each (or one row), but at most `most` if that is given. Throws Error if one of
/// them is below 1.
Partitioner max_shard_size(std::int64_t bytes, std::optional<std::int64_t> most = {});

/// `none`, `fixed:SHARDS`, `min_size:BYTES` (at most `servers` shards) or `max_size:BYTES`. Throws Error for any other
/// text.
Partitioner partitioner_of(std::string_view text, std::int64_t servers);

/// Splits rows into shards whose sizes differ by one at most, the larger ones first: 13 over 5 are 3, 3, 3, 2 and 2.
/// Throws Error for fewer than one shard, or for more shards than rows.
std::vector<RowRange> split_rows(std::int64_t rows, std::int64_t shards);

/// Which server the next shard of a parameter goes to.
enum class Placement {
  fewest_elements,  ///< the one with the fewest elements so far
  round_robin,      ///< one after the other
};

/// `fewest_elements` or `round_robin`. Throws Error for any other text.
Placement placement_of(std::string_view text);

/// How parameters are split, and where the shards go.
struct Sharding {
  Partitioner partitioner = unpartitioned();
  Placement placement = Placement::fewest_elements;
};

}  // namespace troupe
