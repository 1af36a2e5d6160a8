#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/shard/parameter_blocks.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// What a shard has whose parameters travel in a block.
struct BlockUpdate {
  /// The update, see ShardUpdate, and the parameters that travel, by their names there.
  Graph update;
  std::vector<std::string> parameters;
  /// For each of the update's parameters and states, in the order of ShardUpdate::stored(), what it is in the store.
  std::vector<HeldParameter> held;
  /// If given: makes gradients, the output ShardUpdate::kBlock, of what a worker sends, the input kSent.
  std::optional<Graph> decode = {};
  /// Workers make several steps of their own at a time; what comes from them says the rows.
  bool local_steps = false;
};

/// A shard of parameters that every worker needs whole. Gradients and parameters travel in the blocks of ShardUpdate.
class BlockShard final : public Shard {
 public:
  BlockShard(caf::actor_config& config, const ShardOptions& options, const BlockUpdate& what);

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
  Tensor as_it_is_;  // applied in place of the sum
  ParameterBlocks blocks_;
  std::vector<ParameterBlocks::Block> answers_;  // by worker, of which its gradients are
};

/// Adds such a shard to a plan; see add_shard() of Shard.
ActorId add_block_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                        const BlockUpdate& what, int followers);

}  // namespace troupe
