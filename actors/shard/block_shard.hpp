#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/shard/shard.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// The parameters of a shard of which every worker reads all elements, and their update.
struct BlockUpdate {
  /// The graph that updates the parameters and the optimizer states from a block of gradients; see ShardUpdate.
  Graph update;
  /// The names of the parameters in `update`, in the order in which they lie in a block: one flat tensor that holds
  /// them all.
  std::vector<std::string> parameters;
  /// The copies of the parameters and optimizer states in the parameter store, in the order of ShardUpdate::stored().
  std::vector<HeldParameter> held;
  /// Set if workers send encoded gradients: the graph that decodes them. Its input ShardUpdate::kSent is a worker's
  /// encoded gradients, its output ShardUpdate::kBlock the block of gradients.
  std::optional<Graph> decode = {};
  /// If true, a worker sends in place of gradients the change of its parameters over several local steps, in a block
  /// from ShardUpdate::change_since(). The shard reads the number of rows from that block.
  bool local_steps = false;
};

/// Adds a shard of parameters of which every worker reads all elements; see add_shard(). Parameters travel in the
/// blocks that ShardUpdate defines, and so do gradients unless workers encode them.
ActorId add_block_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                        const BlockUpdate& block, int followers);

}  // namespace troupe
