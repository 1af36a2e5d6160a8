#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/actors/shard/shard_protocol.hpp"
#include "troupe/ops/core/batch_info.hpp"

namespace troupe {

/// The options that all shards of a plan have in common.
struct ShardOptions {
  ConsistencyRule rule;
  /// A step is a batch that all workers share. If false, it is a batch of one worker.
  bool shared_steps = true;
  /// The shard repeats the events of the leading shard.
  bool follows = false;
  /// Set from the spawn context when the shard is spawned.
  RunRecords records = {};
};

/// Base of a shard, the owner of some parameters and their optimizer state. It answers the workers' requests for
/// parameters and applies their gradients by its ConsistencyRule. A subclass defines which parameters it has and how
/// they travel.
///
/// If a worker is lost, the shard refuses the batch infos that it holds from that worker. If another worker computes
/// such a batch again, its gradient counts only if the first one has not counted.
///
/// Inputs: a batch info from each worker's batch, which is the worker's request; gradients from each worker; the inputs
/// of the subclass; the events of the leading shard, if this one follows. Outputs: parameters to each worker, once for
/// each of its batches; the events to each shard that follows.
class Shard : public PortActor {
 protected:
  /// A worker's request for the parameters of a batch.
  struct Request {
    BatchInfo batch;
    Arrival info;  // returned when the gradient is applied or dropped, which tells the dispatcher
  };

  Shard(caf::actor_config& config, const ShardOptions& options);

  /// A run begins; the parameters may have changed since the last one.
  virtual void begin_run() = 0;
  /// Whether everything is there that the answer to the worker's oldest request needs.
  virtual bool can_answer(int /*worker*/) { return true; }
  /// Sends the worker parameters for a step over the output of its number.
  virtual void send_answer(int worker, std::int64_t step) = 0;
  /// The worker gets a failure in place of an answer.
  virtual void skip_answer(int /*worker*/) {}
  /// Combines the gradients of these workers; the list is empty if all were lost. Writes to no parameter.
  virtual void combine(const std::vector<int>& from) = 0;
  /// Applies the combined gradients as the update of this number.
  virtual void apply(std::int64_t number) = 0;
  /// Drops the combined gradients before they are returned, also if combine() or apply() has thrown.
  virtual void drop_combined() {}
  /// The gradient of the worker's answered request was applied or dropped.
  virtual void forget_answer(int /*worker*/) {}
  /// Nothing more comes from that worker in this run.
  virtual void on_lost(int /*worker*/) {}

  std::uint32_t workers() const { return static_cast<std::uint32_t>(workers_.size()); }
  /// The first input of the subclass.
  std::uint32_t further_inputs() const { return 2 * workers(); }
  /// The batch of the worker's oldest request, which must exist. The worker's gradients are of this batch.
  const BatchInfo& batch(int worker) const { return workers_[static_cast<std::size_t>(worker)].requests.front().batch; }
  const Tensor& gradients(int worker) const { return workers_[static_cast<std::size_t>(worker)].gradients.tensor; }
  const ConsistencyRule& rule() const { return options_.rule; }
  const FailurePtr& failure() const { return failure_; }
  /// From now on every worker gets this failure in place of parameters.
  void fail_with(const FailurePtr& failure);
  /// Fails with the exception that is being handled, and reports it as a failure of the run.
  void fail_with_exception();

  void on_run(const RunInfo& run) final;
  void advance() final;

 private:
  /// State of one worker.
  struct Worker {
    std::deque<Request> requests;  // oldest first
    Arrival gradients;             // gradients of the oldest request
    bool answered = false;         // the oldest request was answered
    bool arrived = false;          // the gradients have arrived
    bool lost = false;
  };

  std::uint32_t gradients_of(std::uint32_t worker) const { return workers() + worker; }
  void take_events();
  bool can_tell() const;
  void tell(const ShardEvent& event);
  void take_requests();
  void take_request(std::uint32_t from);
  void take_gradients();
  void take_losses();
  void carry_out(const ShardEvent& event);
  void answer(int number);
  void update(std::vector<int> from);
  Worker& worker(int number) { return workers_[static_cast<std::size_t>(number)]; }
  void finish_request(int number);
  void refuse_request(std::uint32_t from);

  const ShardOptions options_;
  std::size_t runs_ = 0;
  ShardProtocol protocol_;
  std::vector<Worker> workers_;
  std::set<std::int64_t> finished_;  // steps whose gradients were applied or dropped, if each is of one worker
  FailurePtr failure_;
};

/// The ports of a shard that depend on the subclass.
struct ShardPorts {
  TensorInfo gradients, parameters;
  std::vector<TensorInfo> further_inputs = {};
  std::vector<HeldParameter> held = {};
};

/// Adds a shard to a plan, with the inputs and outputs of Shard, and outputs for `followers` shards that follow it. The
/// caller connects the inputs and adds the parameters to the plan. `spawn` gets the options with the records of the
/// spawn context.
ActorId add_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                  const ShardPorts& ports, int followers,
                  std::function<caf::actor(caf::actor_system&, ShardOptions)> spawn, PlanTask task);

}  // namespace troupe
