#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/actors/shard/shard_log.hpp"
#include "troupe/actors/shard/shard_protocol.hpp"

namespace troupe {

/// How a shard of the parameters fits into a plan.
struct ShardOptions {
  ConsistencyRule rule;
  /// A step is a batch that all workers share, and not one of a worker.
  bool shared_steps = true;
  /// It does what another shard, which leads, does.
  bool follows = false;
  /// If given, told of every gradient that is applied or dropped.
  std::shared_ptr<ShardLog> log = {};
  /// If given: where it writes its events; what it does instead of what its rule says.
  std::shared_ptr<Recording> record = {};
  std::shared_ptr<const Recording> replay = {};
};

/// Owns some parameters and the optimizer state that goes with them: answers workers that ask for parameters and
/// applies their gradients, by its ConsistencyRule; a subclass says what they are. Batch infos of which nothing will
/// come, because the worker was lost, are refused; of a batch that comes again the gradient counts only if it has not
/// counted before. Inputs: from each worker's batch its info, which is how the worker asks; then from each worker its
/// gradients; then those of the subclass; at last, if it follows, the events of the shard that leads. Outputs: to each
/// worker the parameters, once for each of its batches; then the events, to each shard that follows.
class Shard : public PortActor {
 protected:
  /// A batch of a worker for which it has asked for parameters.
  struct Turn {
    std::int64_t step, rows, global_rows;
    Arrival info;  // held until the gradient is applied or dropped: whoever sent it then knows that
  };

  Shard(caf::actor_config& config, const ShardOptions& options);

  /// A run begins; the parameters may be others.
  virtual void begin_run() = 0;
  /// Whether all that an answer to the oldest turn of the worker needs is there.
  virtual bool can_answer(int /*worker*/) { return true; }
  /// Sends the worker parameters for a step over the output of its number.
  virtual void send_answer(int worker, std::int64_t step) = 0;
  /// The worker gets a failure in place of an answer.
  virtual void skip_answer(int /*worker*/) {}
  /// Brings the gradients of these workers together, which may be none if they were lost. Writes to no parameter.
  virtual void combine(const std::vector<int>& from) = 0;
  /// Makes the update with this number of what combine() has brought together.
  virtual void apply(std::int64_t number) = 0;
  /// Drops that, before the gradients are given back; also if combine() or apply() has thrown.
  virtual void drop_combined() {}
  /// The gradient of the worker's oldest turn, if it was answered, is applied or dropped.
  virtual void forget_answer(int /*worker*/) {}
  /// Nothing more comes from that worker in this run.
  virtual void on_lost(int /*worker*/) {}

  std::uint32_t workers() const { return static_cast<std::uint32_t>(workers_.size()); }
  /// The first input of the subclass.
  std::uint32_t further_inputs() const { return 2 * workers(); }
  /// Of a worker that has one: that of its answered turn, the oldest.
  const Turn& turn(int worker) const { return workers_[static_cast<std::size_t>(worker)].turns.front(); }
  const Tensor& gradients(int worker) const { return workers_[static_cast<std::size_t>(worker)].gradients.tensor; }
  const ConsistencyRule& rule() const { return options_.rule; }
  const FailurePtr& failure() const { return failure_; }
  /// From now on every worker is told of the failure.
  void fail_with(const FailurePtr& failure);
  /// The same with the exception that is being handled, which fails the run.
  void fail_with_exception();

  void on_run(const RunInfo& run) final;
  void advance() final;

 private:
  /// What a shard knows of a worker.
  struct Worker {
    std::deque<Turn> turns;  // oldest first
    Arrival gradients;       // of the oldest turn
    bool answered = false;   // the oldest turn
    bool arrived = false;
    bool lost = false;
  };

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
  Worker& worker(int number) { return workers_[static_cast<std::size_t>(number)]; }
  void finish_turn(int number);
  void refuse_turn(std::uint32_t from);

  const ShardOptions options_;
  std::size_t runs_ = 0;
  ShardProtocol protocol_;
  std::vector<Worker> workers_;
  std::set<std::int64_t> finished_;  // steps whose gradients were applied or dropped, if each is of one worker
  FailurePtr failure_;
};

/// The part of a shard that a plan has: what all of them have in common, and `ports` as the subclass needs them
/// between.
struct ShardPorts {
  TensorInfo gradients, parameters;
  std::vector<TensorInfo> further_inputs = {};
  std::vector<HeldParameter> held = {};
};

/// Adds a shard to a plan, with its inputs and outputs as above and `followers` shards that follow it. Inputs are
/// connected afterwards; the parameters must be added to the plan. `spawn` gets the options with the log and the
/// recordings of the spawn context.
ActorId add_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                  const ShardPorts& ports, int followers,
                  std::function<caf::actor(caf::actor_system&, ShardOptions)> spawn, PlanTask task);

}  // namespace troupe
