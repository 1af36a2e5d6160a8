#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/shard/shard.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// The parameters of a shard of which every worker reads all elements, and their update.
struct BlockUpdate {
  /// The graph of the update; see ShardUpdate.
  Graph update;
  /// The names in `update` of the parameters in a block, in the order of the block.
  std::vector<std::string> parameters;
  /// The copies in the store of the update's parameters and states, in the order of ShardUpdate::stored().
  std::vector<HeldParameter> held;
  /// Set if workers send encoded gradients: the graph that decodes its input ShardUpdate::kSent to its output kBlock.
  std::optional<Graph> decode = {};
  /// In place of gradients a worker sends the change of its parameters over several steps of its own, in a block from
  /// ShardUpdate::change_since(). The shard reads the number of rows from that block.
  bool local_steps = false;
};

/// Adds a shard of parameters of which every worker reads all elements; see add_shard(). Parameters travel in the
/// blocks of ShardUpdate, and so do gradients unless workers encode them.
ActorId add_block_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                        const BlockUpdate& block, int followers);

}  // namespace troupe
