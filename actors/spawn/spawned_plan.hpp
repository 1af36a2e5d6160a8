#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/caf/fwd.hpp"
#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/actors/system/trace.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

class Cluster;

struct WaitOptions {
  /// The longest time in which an executor, an actor of the plan, may complete no firing. An executor that completes
  /// none for longer has stalled: the run is given up, with a report of what every actor waits for.
  std::chrono::milliseconds stall_limit{60'000};
  /// `on_interval` is called on the thread that waits, every `interval` and once after the end of the run. If it
  /// throws, all sources end at the same step, and the exception is passed on when the run is over. In other processes
  /// that share the plan, the run fails with the text of the exception.
  std::chrono::milliseconds interval{100};
  std::function<void()> on_interval = {};
};

/// The runtime on which one part of a plan is spawned, and the context with the objects that the plan names, such as
/// data sets and communicators.
struct PartSetup {
  Runtime runtime;
  SpawnContext context;
};

/// The actors of a plan, and their runs. The constructors also take a Plan, which is converted to a CheckedPlan; the
/// conversion throws Error if the plan could deadlock or is incomplete. Not thread-safe, except for stop() and
/// interrupt().
class SpawnedPlan {
 public:
  /// Spawns the actors of a plan. Throws Error if the plan names an object that the context does not have, or if memory
  /// runs out.
  SpawnedPlan(const Runtime& runtime, CheckedPlan plan, SpawnContext context = {},
              std::shared_ptr<Trace> trace = nullptr);
  /// Spawns every part of the plan on its own runtime, part i on parts[i], all in this process. Edges between
  /// parts cross in-memory links that copy bytes.
  SpawnedPlan(std::vector<PartSetup> parts, CheckedPlan plan, std::shared_ptr<Trace> trace = nullptr);
  /// Spawns this process's part of the plan. The other processes of the cluster must do the same with the same plan.
  /// Throws Error in all processes if their plans differ, with the first difference, or if a process does not spawn its
  /// part. Only an expendable process passes `generation`, that of the SpawnedPlan in rank 0, to join a plan whose runs
  /// may be in progress.
  SpawnedPlan(PartSetup part, CheckedPlan plan, std::shared_ptr<Cluster> cluster,
              std::shared_ptr<Trace> trace = nullptr, std::optional<std::uint64_t> generation = {});
  /// Stops all actors and waits until they have ended, at most 10 s for each part. Does not wait on a thread of the
  /// runtime's actors. A run in progress is given up: its written parameters are broken if its actors may still write,
  /// if their numbers of updates differ, or if HeldParameter::needs_whole_run is set.
  ~SpawnedPlan();
  SpawnedPlan(const SpawnedPlan&) = delete;
  SpawnedPlan& operator=(const SpawnedPlan&) = delete;

  const Plan& plan() const;
  /// True if the plan was spawned with a cluster, so that other processes run its other parts.
  bool is_shared() const;
  /// The number of this SpawnedPlan. Without a cluster, this process counts its SpawnedPlans; with a cluster, the
  /// cluster counts them, and all processes have the same number.
  std::uint64_t generation() const;

  /// True if start() can start another run: none is in progress or has failed, and no parameter was replaced.
  bool can_run_again() const;
  /// Starts a run and returns at once. Throws Error if a run is in progress, if an earlier run failed, if the
  /// parameters are in use or broken, or if SpawnContext::equal_copies is true and copies of a parameter differ.
  void start(const RunInfo& run);
  /// True if no run is in progress: none was started, all actors have finished the last run, or the last run has
  /// failed.
  bool done();
  /// False if rank 0 has not begun the run that this process has started. An expendable process that joins while a run
  /// is in progress waits for the next one.
  bool has_begun() const;
  /// True if every actor has finished the last run, with or without a failure. False if an actor died in the run, or if
  /// the run was given up.
  bool drained() const;
  /// After a failed run for which drained() is true: the copies that this process has written, and their numbers of
  /// updates in the run. Empty after other runs.
  const Lease::UpdatesByGroup& failed_updates();
  /// True if the last run was ended early by stop() in this or another process.
  bool stopped() const;
  /// True if the last run was ended early by interrupt() in this or another process.
  bool interrupted() const;
  /// Expendable processes that took no part in the last run, or left it before its end. Empty in ranks other than 0.
  std::vector<int> absent() const;
  /// The root cause if the last run has failed, else null. It may be known before the run is over.
  FailurePtr failure() const;
  /// The failure after which no run can follow: failure(), or one that came after the last run. Null if there is none.
  FailurePtr final_failure() const;
  /// Waits for the end of the run. Throws Error with the root cause if the run has failed, which includes a report of
  /// what every actor waits for if the run has stalled. Throws Error on a thread of the runtime's actors. Passes on an
  /// exception of WaitOptions::on_interval.
  void wait(const WaitOptions& options = {});
  /// Makes the run end early: all sources end at the same step. Does nothing if no run is in progress.
  void stop();
  /// Makes the run end early like stop(); see RunControl::interrupt(). Thread-safe.
  void interrupt();
  /// Ends the run like stop(), because the program has thrown `error`. If the plan is shared with other processes, the
  /// run fails there with the text of the exception, and no run can follow, also if no run is in progress.
  void stop_because_of(const std::exception_ptr& error);
  /// Like stop_because_of(), but does nothing if no run is in progress. All processes see the same end of the run: with
  /// the failure or, if the run has ended meanwhile, without it.
  void end_run_because_of(const std::exception_ptr& error);
  /// Sets a function that is called, on any thread, whenever a run is over. For callers that do not wait(), such as an
  /// actor, which posts itself a message in the callback.
  void on_over(std::function<void()> callback);
  /// Gives the run up, with a report of what every actor waits for, if the calls of this function since start() have
  /// seen an executor complete no firing for more than `limit`. For callers that do not wait().
  void check_progress(std::chrono::milliseconds limit);

  /// The name for call_back() of a callback whose name says nothing to the user.
  static constexpr const char* kCallback = "a callback of its program";
  /// Calls `callback`, a function of the program, on this thread. If the plan is shared, other processes that stall
  /// meanwhile name this process and `what`. While this or another plan waits for other processes in the callback, this
  /// process does not count as busy.
  void call_back(const std::string& what, const std::function<void()>& callback) const;
  /// Calls `wait`, which waits for other processes that share the plan for at most `limit`; see troupe::await_others().
  void await_others(std::chrono::milliseconds limit, const std::function<void()>& wait) const;

  /// Simulates the death of the process of an expendable part: stops the actors of the part, and the run goes on
  /// without the part. Throws Error unless all parts are in this process and the part is expendable.
  void lose(int part);

  /// A text with a line for every actor, which says what the actor waits for.
  std::string describe();
  /// The actors of a part and their supervisor, for tests that kill them. actors() has the executors in the order of
  /// the plan, then the proxies; actor_name() has the name of an actor by its position in actors().
  const std::vector<caf::actor>& actors(int part) const;
  const caf::actor& supervisor(int part) const;
  const std::string& actor_name(int part, std::size_t number) const;

  /// Whether the calling thread runs actors of the plan. False for threads of an actor system that the program has
  /// made.
  bool on_own_thread() const;

 private:
  struct State;
  void settle();
  std::string reason_of_end() const;
  void tell_busy();
  std::string busiest_process(std::chrono::milliseconds limit) const;
  bool run_one();
  void drive();
  void run_all();
  void give_up(const std::string& reason);
  void wait_for_end(const WaitOptions& options);

  std::unique_ptr<State> state_;
};

}  // namespace troupe
