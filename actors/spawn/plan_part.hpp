#pragma once

#include <caf/actor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/actors/system/trace.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// The objects that all parts of a SpawnedPlan in this process share.
struct SpawnedTogether {
  CheckedPlan plan;
  std::shared_ptr<RunControl> control;
  std::uint64_t generation = 0;
  std::shared_ptr<Trace> trace;
};

/// The actors of one process of a plan: the executors, which run the segments in that process, the proxies for other
/// processes, and the supervisor of the executors and proxies.
class PlanPart {
 public:
  /// `links` holds, by process, this part's end of the link to each other part with which this part shares edges.
  PlanPart(const Runtime& runtime, SpawnedTogether together, int process, SpawnContext context,
           std::map<int, std::shared_ptr<Link>> links);
  PlanPart(const PlanPart&) = delete;
  PlanPart& operator=(const PlanPart&) = delete;
  /// Orders the actors to stop, if order_stop() has not been called. Does not wait for them.
  ~PlanPart();

  /// Borrows from the ParameterStore of the SpawnContext the parameters that the part's actors read and write. Throws
  /// Error like ParameterStore::borrow(), or if the tensor of a parameter was replaced since the part was spawned.
  Lease borrow() const;
  /// Whether the parameters still have the tensors with which the part was spawned.
  bool has_its_parameters() const;

  const Runtime& runtime() const { return runtime_; }
  std::optional<bool> equal_copies() const { return context_->equal_copies; }
  const std::vector<std::shared_ptr<ExecutorStatus>>& statuses() const { return statuses_; }
  const std::vector<caf::actor>& actors() const { return actors_; }
  const caf::actor& supervisor() const { return supervisor_; }

  /// Gives the proxy for a process that has come back the new link to that process. The proxy uses the link from the
  /// next run on.
  void replace_link(int process, std::shared_ptr<Link> link) const;

  /// Orders all actors to stop. Each actor ends when the handler that it runs has returned.
  void order_stop();
  /// Waits until all actors have ended, at most for `limit`. Returns a text for each actor that has not ended: the
  /// actor's name and, if it runs a task, the task. Such actors go on running.
  std::vector<std::string> wait_until_gone(std::chrono::milliseconds limit);

 private:
  std::vector<HeldParameter> held_by_actors() const;
  void borrowed_tensors();
  void spawn();
  caf::actor spawn_executor(const std::vector<std::int32_t>& segments, const std::shared_ptr<ExecutorStatus>& status,
                            const std::vector<Tensor>& shared_buffers);
  caf::actor spawn_external(const PlanActor& actor) const;
  std::vector<Tensor> allocate_shared_buffers() const;
  std::vector<HeldTensor> held_by(const std::vector<std::int32_t>& segments) const;
  bool has_source(const std::vector<std::int32_t>& segments) const;
  /// Sets the function that the communicators of the part call when they end because of a failure of their own; see
  /// Communicator::on_failed(). An empty function unsets it.
  void tell_when_failed(const Communicator::OnFailed& callback) const;

  Runtime runtime_;
  SpawnedTogether together_;
  int process_;
  std::shared_ptr<SpawnContext> context_;
  std::map<int, std::shared_ptr<Link>> links_;
  std::vector<std::pair<ParameterRef, Tensor>> read_, written_;
  std::vector<HeldParameter> held_;  // parameters that external actors (PlanActor::parameters) write
  std::vector<caf::actor> actors_;
  std::map<int, caf::actor> proxies_;  // by process: the proxy for the process
  std::vector<std::shared_ptr<ExecutorStatus>> statuses_;
  caf::actor supervisor_;
};

}  // namespace troupe
