#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/run/port_actor.hpp"
#include "troupe/actors/shard/parameter_blocks.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/actors/shard/shard_log.hpp"
#include "troupe/actors/shard/shard_protocol.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// What a shard of the parameters is.
struct ShardOptions {
  ConsistencyRule rule;
  /// The update, see ShardUpdate, and the parameters that travel.
  Graph update;
  std::vector<std::string> parameters;
  /// A step is a batch that all workers share, and not one of a worker.
  bool shared_steps = true;
  /// Workers make several steps of their own at a time; what comes from them says the rows.
  bool local_steps = false;
  /// It does what another shard, which leads, does.
  bool follows = false;
  /// If given, told of every gradient that is applied or dropped.
  std::shared_ptr<ShardLog> log = {};
  /// If given: where it writes its events; what it does instead of what its rule says.
  std::shared_ptr<Recording> record = {};
  std::shared_ptr<const Recording> replay = {};
};

/// Owns some parameters and the optimizer state that goes with them: answers workers that ask for parameters and
/// applies their gradients, by its ConsistencyRule. Batch infos of which nothing will come, because the worker was
/// lost, are refused; of a batch that comes again the gradient counts only if it has not counted before. Inputs: from
/// each worker's batch its info, which is how the worker asks; then from each worker its gradients; if it follows, the
/// events of the shard that leads. Outputs: to each worker the parameters, once for each of its batches; then the
/// events, to each shard that follows.
class Shard final : public PortActor {
 public:
  Shard(caf::actor_config& config, const ShardOptions& options);

 private:
  /// A batch of a worker for which it has asked for parameters.
  struct Turn {
    std::int64_t step, rows, global_rows;
    Arrival info;  // held until the gradient is applied or dropped: whoever sent it then knows that
  };
  /// What a shard knows of a worker.
  struct Worker {
    std::deque<Turn> turns;  // oldest first
    Arrival gradients;       // of the oldest turn
    bool answered = false;   // the oldest turn
    bool arrived = false;
    bool lost = false;
    ParameterBlocks::Block parameters;  // of which the gradients are
  };

  void on_run(const RunInfo& run) override;
  void advance() override;
  void on_slot_free(std::uint32_t output, std::uint32_t slot) override { blocks_.freed(output, slot); }

  std::uint32_t workers() const { return static_cast<std::uint32_t>(workers_.size()); }
  std::uint32_t gradients_of(std::uint32_t worker) const { return workers() + worker; }
  void begin_recorded_run();
  void take_events();
  bool can_tell() const;
  void tell(const ShardEvent& event);
  void take_tickets();
  void take_ticket(std::uint32_t from);
  void take_gradients();
  void take_losses();
  void carry_out(const ShardEvent& event);
  void answer(int number);
  void update(std::vector<int> from);
  bool is_applied_as_it_is(const std::vector<int>& from);
  void combine(const std::vector<int>& from);
  Worker& worker(int number) { return workers_[static_cast<std::size_t>(number)]; }
  void finish_turn(int number);
  void refuse_turn(std::uint32_t from);

  const ShardOptions options_;
  std::size_t runs_ = 0;
  ShardProtocol protocol_;
  ShardUpdate update_;
  std::vector<Worker> workers_;
  ParameterBlocks blocks_;
  std::set<std::int64_t> finished_;  // steps whose gradients were applied or dropped, if each is of one worker
  FailurePtr failure_;
};

/// Adds a shard to a plan, with its inputs and outputs as above and `followers` shards that follow it. Inputs are
/// connected afterwards; the parameters must be added to the plan. The log is that of the spawn context.
ActorId add_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options, int followers);

}  // namespace troupe
