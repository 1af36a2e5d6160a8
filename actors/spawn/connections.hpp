#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "troupe/actors/collective/device_groups.hpp"
#include "troupe/actors/control/run_link.hpp"
#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/transport/membership/cluster.hpp"

// The links and communicators between the parts of a plan: of parts that are all in this process, or over a cluster.

namespace troupe {

/// Makes the communicators that no context names. All ranks live in this process.
void make_communicators(const Plan& plan, std::vector<PartSetup>& parts);
/// Makes a link between every two parts: links[a][b] is a's end of the link to b.
std::vector<std::map<int, std::shared_ptr<Link>>> make_links(int parts);

/// The parts of a cluster with which one process runs its part of a plan: the control of the run, which lives in rank
/// 0, the links of edges, and the communicators.
class ClusterRun {
 public:
  /// Returns when all processes that are not expendable have come with the same plan. Throws Error if the plans differ.
  /// In an expendable process `generation` is the generation of the plan in rank 0, whose runs may be under way.
  ClusterRun(std::shared_ptr<Cluster> cluster, const CheckedPlan& plan, std::optional<std::uint64_t> generation = {});
  ~ClusterRun();
  ClusterRun(const ClusterRun&) = delete;
  ClusterRun& operator=(const ClusterRun&) = delete;

  int process() const { return cluster_->rank(); }
  std::uint64_t generation() const { return generation_; }
  const std::shared_ptr<RunControl>& control() const { return control_; }
  /// This process's end of the link to every other process with which it shares edges.
  std::map<int, std::shared_ptr<Link>> links() const;
  /// Calls `replace` with the link to a process that has come back, from now on, on any thread, as long as this lives.
  void replace_links_with(std::function<void(int process, std::shared_ptr<Link> link)> replace);
  void stop_replacing_links();
  /// Adds the communicators of the plan that the context lacks. May block until the other processes do the same.
  void add_communicators(SpawnContext& context) const;

 private:
  using Attendance = RunCoordinator::Attendance;
  /// The run, for callbacks that may come when it is gone.
  struct Watch {
    std::mutex mutex;
    ClusterRun* run;  // null once the run is gone
  };

  std::string name(const std::string& part) const { return "plan " + std::to_string(generation_) + "/" + part; }
  /// This process's ends of a communicator of the plan, and null ends for other processes.
  std::vector<std::shared_ptr<Communicator>> make_ends(const PlanCommunicator& named) const;
  void agree_on_plan() const;
  void control_all_parts();
  void add_remote_part(int process, Attendance attendance);
  bool has_sources(int process) const;
  void note_returned(int process);

  std::shared_ptr<Cluster> cluster_;
  CheckedPlan plan_;
  std::vector<int> peers_;  // processes with which this one shares edges
  std::uint64_t generation_;
  std::shared_ptr<RunControl> control_;
  std::vector<std::unique_ptr<RemotePart>> remote_parts_;
  std::shared_ptr<RunCoordinator> coordinator_;  // in rank 0
  std::map<int, int> returns_;                   // by expendable process: its returns when its links were made
  std::function<void(int, std::shared_ptr<Link>)> replace_;
  std::shared_ptr<Watch> watch_;
  std::shared_ptr<const Cluster::OnLost> on_lost_;
  std::shared_ptr<const Cluster::OnReturned> on_returned_;
};

}  // namespace troupe
