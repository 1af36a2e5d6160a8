#pragma once

#include <deque>
#include <string>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/shard_update.hpp"
#include "troupe/ops/core/batch_info.hpp"

namespace troupe {

/// The update of one replica's parameters.
struct ReplicaUpdate {
  /// The graph that updates the parameters and the optimizer states from a block of gradients; see ShardUpdate.
  Graph update;
  /// The names of the parameters that the replica reads, in the order in which they lie in a block: one flat tensor.
  std::vector<std::string> parameters;
  /// If true, the parameters lie in the parameter store. If false, the actor allocates memory for them, and a subclass
  /// must set them by replace() before the first step. Optimizer states lie in the store in both cases.
  bool parameters_in_store = true;
};

/// Base of an actor that holds the parameters of one replica. After every step the actor updates the parameters with
/// the gradients of the replica's part of the batch; then a subclass exchanges parameters with other actors. A part
/// whose gradients are a failure is left out, and the exchanges go on, so that a failed run keeps the other parts and
/// their parameters. Inputs:
/// batch infos and gradients of the replica, then the inputs of the subclass. Outputs: the parameters, to the replica,
/// then the outputs of the subclass. All actors of this kind in a plan make the same number of steps.
class ReplicaParameters : public PortActor {
 public:
  /// The ports of an actor that holds copy number `copy` of the values in the parameter store. The further inputs and
  /// outputs, those of the subclass, come last.
  static ExternalPorts ports(const ReplicaUpdate& update, int copy, const std::vector<TensorInfo>& further_inputs,
                             const std::vector<TensorInfo>& further_outputs);
  /// Shape and dtype of the flat block in which the parameters travel.
  static TensorInfo block_info(const ReplicaUpdate& update);

 protected:
  static constexpr std::uint32_t kFirstInput = 2;   ///< first input of the subclass
  static constexpr std::uint32_t kFirstOutput = 1;  ///< first output of the subclass

  ReplicaParameters(caf::actor_config& config, const ReplicaUpdate& update);

  /// Called when the next batch info has arrived, before the replica gets parameters. Returns true if the step may
  /// begin. After false the function is called again when a tensor arrives or a slot of an output becomes free.
  virtual bool prepare_step() { return true; }
  /// Called after step `step`, counted from the first of the run, to exchange parameters. Returns true if the exchange
  /// is complete, so that the next step begins with the current parameters. After false the function is called again
  /// when a tensor arrives or a slot of an output becomes free.
  virtual bool exchange(std::int64_t step) = 0;

  /// Copies the parameters into a new block.
  Tensor block();
  /// Moves every parameter by `share` of the way to its value in a block.
  void move_towards(const Tensor& block, float share);
  /// Sets every parameter to its value in a block.
  void replace(const Tensor& block);
  /// The parameters in an older block minus the current ones, as a block of gradients; see ShardUpdate::change_since().
  Tensor change_since(const Tensor& block, std::int64_t rows) const { return update_.change_since(block, rows); }

  /// Rows of the gradients of all updates of this run. If an update accumulates gradients, it has the rows of all its
  /// steps, also of those of earlier runs.
  std::int64_t rows() const { return rows_; }
  /// Whether the batch info of another step has arrived.
  bool has_next_step() const { return !requests_.empty(); }
  /// Whether no further step follows in this run.
  bool steps_ended() const { return requests_.empty() && ended(kInfo); }
  /// The failure of an exchange, which the replica gets in place of parameters, or null.
  const FailurePtr& failure() const { return failure_; }
  void fail_with(const FailurePtr& failure) { failure_ = failure; }

  void on_run(const RunInfo& run) override;
  void on_slot_free(std::uint32_t output, std::uint32_t slot) override { blocks_.freed(output, slot); }

 private:
  enum Input : std::uint32_t { kInfo, kGradients };
  enum Output : std::uint32_t { kParameters };

  void advance() final;
  std::vector<Tensor> memory() const;
  void take_infos();
  bool take_gradients();
  void apply(const Tensor& gradients, const BatchInfo& batch);
  bool answer();

  const bool parameters_in_store_;
  ShardUpdate update_;
  ParameterBlocks blocks_;
  std::deque<BatchInfo> requests_;  // batches whose gradients have not arrived, oldest first
  bool answered_ = false;           // the replica was sent the parameters for the oldest request
  bool exchanging_ = false;
  std::int64_t steps_ = 0, rows_ = 0;
  FailurePtr failure_;
};

/// Adds a local shard to a plan: an actor that holds the parameters of one worker and updates them in rounds of `steps`
/// steps. A round begins with the parameters of the shared shard, a block shard with BlockUpdate::local_steps. At the
/// end of the round the local shard sends the shared shard the change of the parameters in place of gradients. The last
/// round of a run may be shorter.
///
/// Inputs, connected by the caller: batch infos and gradients of the worker, parameters from the shared shard. Outputs:
/// the parameters, to the worker; the request and the change, to the shared shard. The actor allocates memory for the
/// parameters; the caller must add the optimizer state to the plan.
ActorId add_local_shard(Plan& plan, const std::string& name, const Place& place, int worker, ReplicaUpdate update,
                        std::int64_t steps);

}  // namespace troupe
