#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/shard/row_lookup.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/ops/graph/graph.hpp"

// The actors between workers and a parameter of which they look up rows; see RowLookup.

namespace troupe {

/// The rows of a parameter that a shard has, and their update.
struct RowUpdate {
  RowLookup lookup;
  /// The update of chunk_rows() rows of the parameter; see ShardUpdate. Every state has the shape of the parameter, and
  /// the update of a row depends on that row alone.
  Graph update;
  /// The parameter's name in the update.
  std::string parameter;
  /// The rows in the store of the update's parameter and states, in the order of ShardUpdate::stored().
  std::vector<HeldParameter> held;

  /// The rows of the parameter that the shard has.
  RowRange rows() const { return held.front().rows.value(); }
};

/// The rows of a parameter that one update takes, few enough to stay in a cache.
std::int64_t chunk_rows(const TensorInfo& parameter);

/// Adds a shard of a parameter of which workers look up rows; see add_shard(). A worker gets the rows that it looks up,
/// and sends gradients of these. Rows without a gradient keep their value and state. Further inputs: the indices, from
/// each worker.
ActorId add_row_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                      const RowUpdate& table, int followers);

/// Adds an actor between a worker and the several shards of a parameter. It joins the rows of all shards in one tensor,
/// and sends each shard the gradients of its rows. Shard i has the rows shards[i]; the ranges ascend without gaps.
/// Inputs, connected by the caller: the indices, the gradients, then the rows from each shard. Outputs: the rows, to
/// the worker; then gradients, to each shard.
ActorId add_row_exchange(Plan& plan, const std::string& name, const Place& place, int worker, const RowLookup& lookup,
                         const std::vector<RowRange>& shards);

}  // namespace troupe
