#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/shard/shard.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// The parameters of a shard that every worker needs whole, and their update.
struct BlockUpdate {
  /// The update; see ShardUpdate.
  Graph update;
  /// The names in the update of the parameters that travel.
  std::vector<std::string> parameters;
  /// The copies in the store of the update's parameters and states, in the order of ShardUpdate::stored().
  std::vector<HeldParameter> held;
  /// Decodes gradients: makes the output ShardUpdate::kBlock from the input kSent, which a worker sends.
  std::optional<Graph> decode = {};
  /// A worker sends the change of several steps of its own, see ShardUpdate::change_since(), which has the rows.
  bool local_steps = false;
};

/// Adds a shard of parameters that every worker needs whole; see add_shard(). Gradients and parameters travel in the
/// blocks of ShardUpdate.
ActorId add_block_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                        const BlockUpdate& block, int followers);

}  // namespace troupe
