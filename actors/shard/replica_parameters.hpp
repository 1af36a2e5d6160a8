#pragma once

#include <deque>
#include <string>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/parameter_blocks.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// How parameters are updated, see ShardUpdate, and which of them a replica reads, in the order of a block.
struct ReplicaUpdate {
  Graph update;
  std::vector<std::string> parameters;
};

/// Base of an actor that has the parameters of one replica, which learns with its part of every batch. After each step
/// a subclass exchanges them with whom it likes. Inputs: info and gradients of the replica's batches, then those of the
/// subclass. Outputs: the parameters, to the replica, then those of the subclass. All such actors of a plan make the
/// same number of steps.
class ReplicaParameters : public PortActor {
 public:
  /// What an actor of copy `copy` of the parameters and their optimizer state declares, with further inputs and
  /// outputs.
  static ExternalPorts ports(const ReplicaUpdate& update, int copy, const std::vector<TensorInfo>& further_inputs,
                             const std::vector<TensorInfo>& further_outputs);
  /// As all parameters travel: in one flat block.
  static TensorInfo block_info(const ReplicaUpdate& update);

 protected:
  static constexpr std::uint32_t kFirstInput = 2;   ///< of the subclass
  static constexpr std::uint32_t kFirstOutput = 1;  ///< of the subclass

  ReplicaParameters(caf::actor_config& config, const ReplicaUpdate& update);

  /// After step `step`, counted from the run's first: takes and sends what it can. True when all is done: the next step
  /// begins with the parameters as they are then. Else it is asked again when something has come or a slot is free.
  virtual bool exchange(std::int64_t step) = 0;

  /// The parameters as they are, in a tensor that stays as it is until all have returned it.
  Tensor block();
  /// Moves every parameter by `share` of the way to those of a block.
  void move_towards(const Tensor& block, float share);

  void on_run(const RunInfo& run) override;
  void on_slot_free(std::uint32_t output, std::uint32_t slot) override { blocks_.freed(output, slot); }

 private:
  enum Input : std::uint32_t { kInfo, kGradients };
  enum Output : std::uint32_t { kParameters };
  struct Turn {
    std::int64_t step, rows, global_rows;
  };

  void advance() final;
  void take_infos();
  bool take_gradients();
  void apply(const Tensor& gradients, const Turn& turn);
  bool answer();

  ShardUpdate update_;
  ParameterBlocks blocks_;
  std::deque<Turn> turns_;  // oldest first
  bool answered_ = false;   // the oldest
  bool exchanging_ = false;
  std::int64_t steps_ = 0;
  FailurePtr failure_;
};

}  // namespace troupe
