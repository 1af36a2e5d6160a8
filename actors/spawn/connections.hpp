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

// The links and communicators between the parts of a plan: a part is the actors of one process of the plan. All parts
// are in this process, or each part is in a process of a cluster.

namespace troupe {

/// Makes the communicators of the plan that are in the SpawnContext of no part, and adds their ranks to these contexts.
/// All ranks are in this process.
void make_communicators(const Plan& plan, std::vector<PartSetup>& parts);
/// Makes a link between every two parts: links[a][b] is a's end of the link to b.
std::vector<std::map<int, std::shared_ptr<Link>>> make_links(int parts);

/// The connections of one process of a cluster to the other processes that run parts of the same plan: the run control
/// (a RunCoordinator in rank 0, a RunFollower elsewhere), the links that carry edges, and the communicators.
class ClusterRun {
 public:
  /// Waits until all processes that are not expendable have constructed a ClusterRun with the same plan. Throws Error
  /// if the plans differ, if the cluster has fewer processes than the plan, or if the plan has actors in a process that
  /// may be lost and is not expendable in the plan.
  ///
  /// `generation` is the number of the plan in rank 0, SpawnedPlan::generation(). Only an expendable process passes it,
  /// to join a plan whose runs may be in progress; the constructor then neither waits nor compares the plans.
  ClusterRun(std::shared_ptr<Cluster> cluster, const CheckedPlan& plan, std::optional<std::uint64_t> generation = {});
  ~ClusterRun();
  ClusterRun(const ClusterRun&) = delete;
  ClusterRun& operator=(const ClusterRun&) = delete;

  int process() const { return cluster_->rank(); }
  Cluster& cluster() const { return *cluster_; }
  std::uint64_t generation() const { return generation_; }
  const std::shared_ptr<RunControl>& control() const { return control_; }
  /// By process, this process's end of the link to each other process with which it shares edges of the plan.
  std::map<int, std::shared_ptr<Link>> links() const;
  /// Sets the function that gets the new link to an expendable process that has come back. `replace` is called on any
  /// thread, for processes that have come back since the construction, too, and no more once stop_replacing_links() has
  /// returned.
  void replace_links_with(std::function<void(int process, std::shared_ptr<Link> link)> replace);
  void stop_replacing_links();
  /// Adds to the context the communicators of the plan that have ranks in this process and that the context lacks. May
  /// block until the other processes of a communicator make their ends of it.
  void add_communicators(SpawnContext& context) const;

 private:
  using Attendance = RunCoordinator::Attendance;
  /// Gives callbacks of the cluster access to this object, which may be destroyed before they are called.
  struct Watch {
    std::mutex mutex;
    ClusterRun* run;  // null after stop_replacing_links()
  };

  std::string name(const std::string& part) const { return "plan " + std::to_string(generation_) + "/" + part; }
  /// This process's ends of a communicator of the plan. If the communicator is not on devices, the result has an
  /// element for each rank, null for a rank in another process.
  std::vector<std::shared_ptr<Communicator>> make_ends(const PlanCommunicator& named) const;
  void agree_on_plan() const;
  void control_all_parts();
  void add_remote_part(int process, Attendance attendance);
  bool has_sources(int process) const;
  void note_returned(int process);

  std::shared_ptr<Cluster> cluster_;
  CheckedPlan plan_;
  std::vector<int> peers_;  // processes with which this process shares edges
  std::uint64_t generation_;
  std::shared_ptr<RunControl> control_;
  std::vector<std::unique_ptr<RemotePart>> remote_parts_;
  std::shared_ptr<RunCoordinator> coordinator_;  // null except in rank 0
  // By expendable process: Cluster::returns() of the process when the current links to it were made.
  std::map<int, int> returns_;
  std::function<void(int, std::shared_ptr<Link>)> replace_;
  std::shared_ptr<Watch> watch_;
  std::shared_ptr<const Cluster::OnLost> on_lost_;
  std::shared_ptr<const Cluster::OnReturned> on_returned_;
};

}  // namespace troupe
