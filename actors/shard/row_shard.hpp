#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/shard/row_lookup.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/ops/graph/graph.hpp"

// The actors that hold a parameter of which workers look up rows, and that route the rows; see RowLookup.

namespace troupe {

/// The rows of a parameter that a shard has, and the update of these rows.
struct RowUpdate {
  RowLookup lookup;
  /// The graph that updates chunk_rows() rows of the parameter and its states from their gradients; see ShardUpdate.
  /// Every state must have the shape of the parameter, and the update of a row must depend on that row alone.
  Graph update;
  /// The parameter's name in `update`.
  std::string parameter;
  /// The copies in the parameter store of the shard's rows: of the parameter and its states, in the order of
  /// ShardUpdate::stored().
  std::vector<HeldParameter> held;

  /// The rows of the parameter that the shard has.
  RowRange rows() const { return held.front().rows.value(); }
};

/// The number of rows of a parameter that one run of RowUpdate::update takes, small enough for these rows to stay in a
/// cache.
std::int64_t chunk_rows(const TensorInfo& parameter);

/// Adds a shard of a parameter of which workers look up rows; see add_shard(). A worker gets the rows that it looks up,
/// and sends the gradients of these rows. Rows without a gradient keep their value and state. The further inputs of the
/// shard are the indices, one input for each worker.
ActorId add_row_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                      const RowUpdate& table, int followers);

/// Adds an actor between a worker and the several shards of a parameter. The actor joins the rows from all shards in
/// one tensor, in the order of the worker's indices, and sends each shard the gradients of its rows. Shard i has the
/// rows shards[i]; the ranges must ascend without gaps. Inputs, connected by the caller: the indices, the gradients,
/// then the rows from each shard. Outputs: the rows, to the worker; then gradients, to each shard.
ActorId add_row_exchange(Plan& plan, const std::string& name, const Place& place, int worker, const RowLookup& lookup,
                         const std::vector<RowRange>& shards);

}  // namespace troupe
