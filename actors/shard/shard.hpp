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

/// The options of a shard. All shards of a plan have the same `rule` and `shared_steps`.
struct ShardOptions {
  ConsistencyRule rule;
  /// If true, a step is a batch of which each worker computes a part. If false, a step is a batch of one worker.
  bool shared_steps = true;
  /// If true, the shard decides nothing: it repeats the events of the leading shard, the one that decides for all
  /// shards. The events arrive at its last input.
  bool follows = false;
  /// If false, the number of an update is that of its step. If true, it is the number of updates that the shards have
  /// made before: batches whose gradients were dropped or left out do not count. The last held parameter of a shard is
  /// then its UpdateCount, from which the next run continues. If UpdateCount::step is not the first step of the run,
  /// the first update has the number of this first step, divided by steps_per_update.
  bool counts_updates = false;
  std::int64_t steps_per_update = 1;
  /// The log and the recordings. Set from the SpawnContext when the shard is spawned.
  RunRecords records = {};
};

/// Base of a shard, an actor that holds some of the parameters and their optimizer state. A shard answers the workers'
/// requests for parameters and applies the workers' gradients by its ConsistencyRule. A subclass defines which
/// parameters the shard has and how they travel.
///
/// If a worker is lost, the shard refuses the batch infos of that worker for which no gradient has arrived. Another
/// worker may then compute the batch again, unless workers share steps. If this shard has already applied or dropped a
/// gradient of the batch, it drops the new one.
///
/// Inputs: for each worker, the batch infos of its batches, which are the worker's requests; gradients from each
/// worker; the further inputs, those of the subclass; the events of the leading shard, if this shard follows. Outputs:
/// parameters to each worker, once for each of its batches; the events to each shard that follows.
class Shard : public PortActor {
 protected:
  /// A worker's request for the parameters of a batch.
  struct Request {
    BatchInfo batch;
    // The batch info as it arrived. It is given back to its producer when the gradient has been applied or dropped.
    Arrival info;
  };

  Shard(caf::actor_config& config, const ShardOptions& options);

  /// Called when a run begins. The parameters may have changed since the last run.
  virtual void begin_run() = 0;
  /// Whether all further inputs have arrived that the answer to the worker's oldest request needs.
  virtual bool can_answer(int /*worker*/) { return true; }
  /// Sends the parameters for a step over output number `worker`.
  virtual void send_answer(int worker, std::int64_t step) = 0;
  /// Called in place of send_answer() if the shard sends the worker a failure. Must take and give back the further
  /// inputs that belong to the request.
  virtual void skip_answer(int /*worker*/) {}
  /// Combines the gradients of these workers. The list is empty if all workers of the update were lost. Must not write
  /// to a parameter.
  virtual void combine(const std::vector<int>& from) = 0;
  /// Applies the combined gradients, which `rows` batch rows have made, as update `number`; see
  /// ShardOptions::counts_updates.
  virtual void apply(std::int64_t number, std::int64_t rows) = 0;
  /// The number of batch rows that have made the gradients of a worker.
  virtual std::int64_t rows_of(int worker) { return batch(worker).rows; }
  /// Drops the handles that combine() keeps to gradients of workers, before the gradients are given back to their
  /// producers. Also called if combine() or apply() has thrown.
  virtual void drop_combined() {}
  /// Called when the gradient of the worker's answered request has been applied or dropped, or when the lost worker
  /// sends none.
  virtual void forget_answer(int /*worker*/) {}
  /// Called when the worker was lost: nothing more arrives from it in this run.
  virtual void on_lost(int /*worker*/) {}

  std::uint32_t workers() const { return static_cast<std::uint32_t>(workers_.size()); }
  /// The number of the first input of the subclass.
  std::uint32_t further_inputs() const { return 2 * workers(); }
  /// The batch of the worker's oldest request, which must exist. The worker's gradients are of this batch.
  const BatchInfo& batch(int worker) const { return workers_[static_cast<std::size_t>(worker)].requests.front().batch; }
  const Tensor& gradients(int worker) const { return workers_[static_cast<std::size_t>(worker)].gradients.tensor; }
  const ConsistencyRule& rule() const { return options_.rule; }
  const FailurePtr& failure() const { return failure_; }
  /// Called if a worker has sent a failure. If workers share steps, calls fail_with(). Otherwise the steps of the other
  /// workers count, so only the gradients of this worker are left out.
  void worker_failed(const FailurePtr& failure);
  /// Makes every worker get this failure in place of parameters until the run ends. Keeps an earlier failure.
  void fail_with(const FailurePtr& failure);
  /// Calls fail_with() for the exception that is being handled, and reports the exception as a failure of the run.
  void fail_with_exception();

  void on_run(const RunInfo& run) final;
  void advance() final;

 private:
  /// State of one worker.
  struct Worker {
    std::deque<Request> requests;  // oldest first
    Arrival gradients;             // gradients of the oldest request
    bool answered = false;         // the oldest request was answered
    bool arrived = false;          // the gradients of the oldest request have arrived
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
  const Tensor& update_count() const { return parameter(parameters() - 1); }

  const ShardOptions options_;
  std::size_t runs_ = 0;
  ShardProtocol protocol_;
  std::int64_t first_step_ = 0, next_update_ = 0;
  std::vector<Worker> workers_;
  // Steps whose gradients were applied or dropped. Not read if workers share steps.
  std::set<std::int64_t> finished_;
  FailurePtr failure_;
};

/// The ports of a shard that depend on the subclass.
struct ShardPorts {
  TensorInfo gradients, parameters;
  std::vector<TensorInfo> further_inputs = {};
  std::vector<HeldParameter> held = {};
};

/// Adds a shard to a plan, with the inputs and outputs of Shard, and outputs for `followers` shards that follow it. The
/// caller must connect the inputs and add the parameters to the plan. `spawn` spawns the shard from `options`, in which
/// ShardOptions::records has been set from the SpawnContext.
ActorId add_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                  const ShardPorts& ports, int followers,
                  std::function<caf::actor(caf::actor_system&, ShardOptions)> spawn, PlanTask task);

}  // namespace troupe
