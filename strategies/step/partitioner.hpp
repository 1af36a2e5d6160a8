#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/ops/graph/op.hpp"
#include "troupe/strategies/step/placed_parameter.hpp"

namespace troupe {

/// The number of rows of a parameter, its size along the first axis; 1 for a scalar.
std::int64_t rows_of(const TensorInfo& parameter);

/// A rule that splits the rows of parameters into shards.
struct Partitioner {
  /// Returns the number of shards of a parameter, which must be from 1 to its number of rows.
  std::function<std::int64_t(const TensorInfo& parameter)> shards_of;
  /// The number of rows that at least one parameter of the model must have. If every parameter has fewer rows, the
  /// function from on_servers() throws Error.
  std::int64_t least_rows = 1;
};

/// Makes one shard of every parameter.
Partitioner unpartitioned();
/// Splits every parameter into `shards` shards, or one per row if it has fewer rows. At least one parameter of the
/// model must have `shards` rows; see Partitioner::least_rows. Throws Error if `shards` is below 1.
Partitioner fixed_shards(std::int64_t shards);
/// Splits every parameter into as many shards as it has parts of `bytes` bytes, rounded up, but at most `max_shards`,
/// and at most one per row. Throws Error if an argument is below 1.
Partitioner min_shard_size(std::int64_t bytes, std::int64_t max_shards);
/// Splits every parameter into the fewest shards that have at most `bytes` bytes, or one row, each. `max_shards`, if
/// given, limits their number; the shards may then be larger. Throws Error if an argument is below 1.
Partitioner max_shard_size(std::int64_t bytes, std::optional<std::int64_t> max_shards = {});

/// Returns the partitioner that a text names: `none`, `fixed:SHARDS`, `min_size:BYTES` (at most `servers` shards) or
/// `max_size:BYTES`. Throws Error for any other text.
Partitioner partitioner_of(std::string_view text, std::int64_t servers);

/// Splits rows into shards whose sizes differ by one at most, the larger ones first: 13 over 5 are 3, 3, 3, 2 and 2.
/// Throws Error for fewer than one shard, or for more shards than rows.
std::vector<RowRange> split_rows(std::int64_t rows, std::int64_t shards);

/// The rule that chooses the server of the next shard.
enum class Placement {
  fewest_elements,  ///< the server with the fewest elements so far
  round_robin,      ///< the server after the one that got the shard before; server 0 for the first shard
};

/// Returns the placement that a text names: `fewest_elements` or `round_robin`. Throws Error for any other text.
Placement placement_of(std::string_view text);

/// The rules that split parameters into shards and place the shards on servers. By default, every parameter lies whole
/// on the server that has the fewest elements so far.
struct Sharding {
  Partitioner partitioner = unpartitioned();
  Placement placement = Placement::fewest_elements;
};

/// Returns a function that places the rows of all parameters on `servers` servers. The function throws Error if no
/// parameter has the partitioner's least_rows, or a parameter cannot have the number of shards that the partitioner
/// returns.
PlaceParameters on_servers(const Sharding& sharding, std::size_t servers);

}  // namespace troupe
