#pragma once

#include <caf/actor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/run/failure.hpp"
#include "troupe/actors/run/run_status.hpp"
#include "troupe/actors/run/runtime.hpp"
#include "troupe/actors/run/trace.hpp"

namespace troupe {

/// Where a run stands, shared between the supervisor of a plan and whoever waits for it. Thread-safe.
class RunState;

struct WaitOptions {
  /// With no firing for so long the run has stalled: it is given up, with a report of what every actor waits for.
  std::chrono::milliseconds stall_limit{60'000};
  /// Called on the waiting thread every `interval`, and once at the end.
  std::chrono::milliseconds interval{100};
  std::function<void()> on_interval;
};

/// A plan as actors. Not thread-safe, except for stop().
class SpawnedPlan {
 public:
  /// Proves the plan live and spawns its actors. Throws Error if it could deadlock, has a hole, or memory is short.
  SpawnedPlan(Runtime& runtime, Plan plan, std::shared_ptr<Trace> trace = nullptr);
  /// Stops all actors and waits for them, for a limited time.
  ~SpawnedPlan();
  SpawnedPlan(const SpawnedPlan&) = delete;
  SpawnedPlan& operator=(const SpawnedPlan&) = delete;

  const Plan& plan() const { return *plan_; }

  /// Starts a run and returns at once. Throws Error if one is on its way or an earlier one failed.
  void start(const RunInfo& run);
  /// True when the run that was started last is over: every token and every slot is back at its place.
  bool done() const;
  /// Waits for the end of the run. Throws Error with the root cause if it failed, and with a report if it stalled.
  void wait(const WaitOptions& options = {});
  /// Makes the run end early: all sources at the same step.
  void stop();

  /// Firings of all actors so far: what the watchdog looks at.
  std::uint64_t firings() const;
  /// What every actor waits for.
  std::string describe();

 private:
  void check_edges() const;
  void check_external(const PlanActor& actor) const;
  void check_in_place(const PlanActor& actor) const;
  void spawn_hosts(Runtime& runtime, const std::shared_ptr<Trace>& trace);
  caf::actor spawn_host(Runtime& runtime, std::int32_t host, const std::vector<Tensor>& blocks,
                        const std::shared_ptr<Trace>& trace);
  void drive();
  void give_up(const std::string& reason);

  Runtime& runtime_;
  std::shared_ptr<const Plan> plan_;
  std::vector<caf::actor> hosts_;
  std::vector<std::shared_ptr<HostStatus>> statuses_;
  caf::actor supervisor_;
  std::shared_ptr<RunState> state_;
};

}  // namespace troupe
