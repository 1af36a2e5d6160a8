#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/shard/parameter_blocks.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// The parameters of a BlockShard and their update.
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

/// A shard of parameters that every worker needs whole. Gradients and parameters travel in the blocks of ShardUpdate.
class BlockShard final : public Shard {
 public:
  BlockShard(caf::actor_config& config, const ShardOptions& options, const BlockUpdate& block);

 private:
  void begin_run() override;
  void send_answer(int worker, std::int64_t step) override;
  void combine(const std::vector<int>& from) override;
  void apply(std::int64_t number) override;
  void drop_combined() override;
  void forget_answer(int worker) override { answers_[static_cast<std::size_t>(worker)] = nullptr; }
  void on_slot_free(std::uint32_t output, std::uint32_t slot) override { blocks_.freed(output, slot); }

  Tensor block_of(int worker);
  bool is_applied_as_it_is(const std::vector<int>& from) const;
  void sum(const std::vector<int>& from);

  const bool local_steps_;
  ShardUpdate update_;
  std::optional<Program> decode_;
  Tensor as_it_is_;  // if set: the block that is applied in place of the sum
  ParameterBlocks blocks_;
  std::vector<ParameterBlocks::Block> answers_;  // by worker: the parameters from which its gradients are computed
};

/// Adds a BlockShard to a plan; see add_shard().
ActorId add_block_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                        const BlockUpdate& block, int followers);

}  // namespace troupe
