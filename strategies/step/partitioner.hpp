#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/ops/graph/op.hpp"
#include "troupe/strategies/step/split_training.hpp"

namespace troupe {

/// The number of rows along which a parameter may be split; 1 for a scalar.
std::int64_t rows_of(const TensorInfo& parameter);

/// How the rows of parameters are split into shards.
struct Partitioner {
  /// The number of shards of a parameter: from 1 to its number of rows.
  std::function<std::int64_t(const TensorInfo& parameter)> shards_of;
  /// A model is refused unless one of its parameters has at least this number of rows.
  std::int64_t least_rows = 1;
};

/// Every parameter is one shard.
Partitioner unpartitioned();
/// Every parameter is `shards` shards, or as many as it has rows if these are fewer. One parameter at least must have
/// `shards` rows. Throws Error if `shards` is below 1.
Partitioner fixed_shards(std::int64_t shards);
/// Every parameter is as many shards as it has parts of `bytes`, the last one perhaps smaller, but at most
/// `max_shards`. Throws Error if an argument is below 1.
Partitioner min_shard_size(std::int64_t bytes, std::int64_t max_shards);
/// Every parameter is as few shards as have at most `bytes` (or one row) each, but at most `max_shards` if given.
/// Throws Error if an argument is below 1.
Partitioner max_shard_size(std::int64_t bytes, std::optional<std::int64_t> max_shards = {});

/// The partitioner that a text names: `none`, `fixed:SHARDS`, `min_size:BYTES` (at most `servers` shards) or
/// `max_size:BYTES`. Throws Error for any other text.
Partitioner partitioner_of(std::string_view text, std::int64_t servers);

/// Splits rows into shards whose sizes differ by one at most, the larger ones first: 13 over 5 are 3, 3, 3, 2 and 2.
/// Throws Error for fewer than one shard, or for more shards than rows.
std::vector<RowRange> split_rows(std::int64_t rows, std::int64_t shards);

/// The server of the next shard.
enum class Placement {
  fewest_elements,  ///< the server with the fewest elements so far
  round_robin,      ///< the next server
};

/// The placement that a text names. Throws Error for any other text.
Placement placement_of(std::string_view text);

/// How parameters are split into shards, and how these are placed on servers. By default, every parameter lies whole on
/// the server that has the fewest elements so far.
struct Sharding {
  Partitioner partitioner = unpartitioned();
  Placement placement = Placement::fewest_elements;
};

/// Places the rows of all parameters on `servers` servers. Throws Error if no parameter has the partitioner's
/// least_rows.
PlaceParameters on_servers(const Sharding& sharding, std::size_t servers);

}  // namespace troupe
