#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/caf/fwd.hpp"
#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/actors/system/trace.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

class Cluster;

struct WaitOptions {
  /// The longest time in which an executor may complete no firing. An executor that takes longer has stalled: the run
  /// is given up, with a report of what every actor waits for.
  std::chrono::milliseconds stall_limit{60'000};
  /// Called on the waiting thread every `interval`, and once at the end. If it throws, the run is ended in order before
  /// the exception is passed on.
  std::chrono::milliseconds interval{100};
  std::function<void()> on_interval = {};
};

/// The runtime on which one part of a plan is spawned, and the objects for which the plan's names stand there.
struct PartSetup {
  Runtime runtime;
  SpawnContext context;
};

/// A plan as actors. Every constructor also takes a Plan, which becomes a CheckedPlan: one that could deadlock or is
/// incomplete is refused there. Not thread-safe, except for stop().
class SpawnedPlan {
 public:
  /// Spawns the actors of a plan. Throws Error if the plan names an object that the context does not have, or if memory
  /// runs out.
  SpawnedPlan(const Runtime& runtime, CheckedPlan plan, SpawnContext context = {},
              std::shared_ptr<Trace> trace = nullptr);
  /// Spawns every part of the plan on its own runtime, part i on parts[i], all in this process. Edges between
  /// parts cross in-memory links that copy bytes.
  SpawnedPlan(std::vector<PartSetup> parts, CheckedPlan plan, std::shared_ptr<Trace> trace = nullptr);
  /// Spawns this process's part of the plan; the other processes of the cluster do the same with the same plan. Throws
  /// Error in all of them if their plans differ, with the first difference, or if one does not come.
  /// In an expendable process `generation` is the generation of the plan in rank 0, whose runs may be under way.
  SpawnedPlan(PartSetup part, CheckedPlan plan, std::shared_ptr<Cluster> cluster,
              std::shared_ptr<Trace> trace = nullptr, std::optional<std::uint64_t> generation = {});
  /// Stops all actors and waits for them, for a limited time. On a thread of the runtime's actors it does not wait, and
  /// a run that is in progress then leaves its parameters broken.
  ~SpawnedPlan();
  SpawnedPlan(const SpawnedPlan&) = delete;
  SpawnedPlan& operator=(const SpawnedPlan&) = delete;

  const Plan& plan() const;
  /// True if other processes run parts of the plan.
  bool is_shared() const;
  /// The number of this spawning: counted in this process, or in the cluster, where all processes have the same number.
  std::uint64_t generation() const;

  /// Starts a run and returns at once. Throws Error if one is in progress, an earlier one failed, or the parameters are
  /// in use or broken.
  void start(const RunInfo& run);
  /// True when the run that was started last is over: every slot is free, or it failed.
  bool done();
  /// True if that run is over, failed or not, and all actors came to its end in order: none has died or was given up.
  bool drained() const;
  /// True if that run was ended early by stop(), in whatever process.
  bool stopped() const;
  /// Expendable processes that took no part in the last run, or not to its end. Known in rank 0.
  std::vector<int> absent() const;
  /// The root cause, if the run that is over failed.
  FailurePtr failure() const;
  /// Waits for the end of the run. Throws Error with the root cause if it failed, and with a report if it stalled.
  void wait(const WaitOptions& options = {});
  /// Makes the run end early: all sources at the same step.
  void stop();
  /// Calls back on any thread whenever a run is over. For callers that do not wait(): an actor posts to itself from
  /// there.
  void on_over(std::function<void()> callback);
  /// Gives the run up, with a report, if an actor has completed no firing for `limit`, counted over the calls. For
  /// callers that do not wait().
  void check_progress(std::chrono::milliseconds limit);

  /// Simulates the death of the process of an expendable part in this process: the actors of the part go at once, and
  /// the run goes on without it.
  void lose(int part);

  /// A line for every actor that says for what it waits.
  std::string describe();
  /// The actors of a part, for tests that kill them: executors in the order of the plan, then proxies; the supervisor.
  const std::vector<caf::actor>& actors(int part) const;
  const caf::actor& supervisor(int part) const;
  const std::string& actor_name(int part, std::size_t number) const;

 private:
  struct State;
  void settle();
  void end_dirty();
  bool on_own_thread() const;
  bool run_one();
  void drive();
  void run_all();
  void give_up(const std::string& reason);
  void wait_for_end(const WaitOptions& options);

  std::unique_ptr<State> state_;
};

}  // namespace troupe
