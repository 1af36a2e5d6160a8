#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "troupe/actors/collective/device_groups.hpp"
#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/spawn/remote_part.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// What one process needs of a cluster to run its part of a plan: the control of the run, which lives in process 0, the
/// links of edges, and the communicators.
class ClusterRun {
 public:
  /// Returns when all processes that are not expendable have come with the same plan. Throws Error if they differ. In
  /// an expendable process `generation` is that of the plan in process 0, perhaps one whose runs are under way.
  ClusterRun(std::shared_ptr<Cluster> cluster, const Plan& plan, std::optional<std::uint64_t> generation = {});
  ~ClusterRun();
  ClusterRun(const ClusterRun&) = delete;
  ClusterRun& operator=(const ClusterRun&) = delete;

  int process() const { return cluster_->rank(); }
  std::uint64_t generation() const { return generation_; }
  const std::shared_ptr<RunControl>& control() const { return control_; }
  /// This process's end of the link to each other one with which it shares edges.
  std::map<int, std::shared_ptr<Link>> links() const;
  /// From now on `replace` is given the links to processes that have come back, on any thread, as long as this lives.
  void replace_links_with(std::function<void(int process, std::shared_ptr<Link> link)> replace);
  void stop_replacing_links();
  /// Those of the plan, where the context has none. May block until the other processes do the same.
  void add_communicators(SpawnContext& context) const;

 private:
  /// What somebody who calls back may find gone.
  struct Watch {
    std::mutex mutex;
    ClusterRun* run;
  };

  std::string name(const std::string& what) const { return "plan " + std::to_string(generation_) + "/" + what; }
  /// This process's rank of a communicator with one rank for each of some processes.
  std::shared_ptr<Communicator> rank_among(const std::string& communicator, const std::vector<int>& processes) const;
  Meeting meeting_of(const std::string& communicator) const;
  /// This process's ends of a communicator of the plan.
  std::vector<std::shared_ptr<Communicator>> make_ends(const PlanCommunicator& named) const;
  void agree_on_plan() const;
  void control_all_parts();
  bool has_sources(int process) const;
  void note_returned(int process);

  std::shared_ptr<Cluster> cluster_;
  const Plan& plan_;
  std::uint64_t generation_;
  std::shared_ptr<RunControl> control_;
  std::vector<std::unique_ptr<RemotePart>> remote_parts_;
  std::shared_ptr<RunCoordinator> coordinator_;  // in process 0
  std::map<int, int> returns_;                   // of expendable processes, when their links were made
  std::function<void(int, std::shared_ptr<Link>)> replace_;
  std::shared_ptr<Watch> watch_;
  std::shared_ptr<const Cluster::OnLost> on_lost_;
  std::shared_ptr<const Cluster::OnReturned> on_returned_;
};

}  // namespace troupe
