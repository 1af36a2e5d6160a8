#pragma once

#include <deque>
#include <string>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/parameter_blocks.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

struct LocalShardOptions {
  /// The update of a step, see ShardUpdate, and those of its parameters that the shard behind it has, in their order.
  Graph update;
  std::vector<std::string> parameters;
  /// Steps of a round.
  std::int64_t steps = 1;
};

/// Parameters of one worker that are updated here, step by step. A round begins with the parameters of the shard behind
/// it, which gets in the end how they have changed: from that shard's point of view a worker, whose gradients take
/// several steps. The last round of a run may be shorter. Inputs: info and gradients of the worker's batches,
/// parameters from behind. Outputs: parameters to the worker; to the shard behind a question and the change.
class LocalShard final : public PortActor {
 public:
  LocalShard(caf::actor_config& config, const LocalShardOptions& options);

 private:
  enum Input : std::uint32_t { kInfo, kGradients, kBase };
  enum Output : std::uint32_t { kParameters, kQuestion, kChange };
  struct Turn {
    std::int64_t step, rows, global_rows;
  };

  void on_run(const RunInfo& run) override;
  void advance() override;
  void on_slot_free(std::uint32_t output, std::uint32_t slot) override { blocks_.freed(output, slot); }

  void take_batches();
  void take_base();
  bool take_gradients();
  void apply(const Tensor& gradients, const Turn& turn);
  bool answer();
  bool end_round();

  const LocalShardOptions options_;
  ShardUpdate update_;
  ParameterBlocks blocks_;
  std::deque<Turn> turns_;  // oldest first
  bool answered_ = false;   // the oldest
  Arrival base_;            // what this round began with
  bool asked_ = false, has_base_ = false;
  std::int64_t round_ = 0, steps_ = 0, rows_ = 0;
  FailurePtr failure_;
};

/// Adds a local shard of a worker to a plan; its inputs are connected afterwards. What it updates besides the
/// parameters, such as optimizer state, must be added to the plan.
ActorId add_local_shard(Plan& plan, const std::string& name, const Place& place, int worker,
                        const LocalShardOptions& options);

}  // namespace troupe
