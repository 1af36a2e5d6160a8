#pragma once

#include <map>
#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/run/remote_part.hpp"
#include "troupe/actors/run/run_control.hpp"
#include "troupe/actors/run/spawn_context.hpp"
#include "troupe/transport/cluster/cluster.hpp"

namespace troupe {

/// What one process needs of a cluster to run its part of a plan: the control of the run, which lives in process 0, the
/// links of edges, and the communicators.
class ClusterRun {
 public:
  /// Returns when all processes have come with the same plan. Throws Error if they differ.
  ClusterRun(std::shared_ptr<Cluster> cluster, const Plan& plan);
  ~ClusterRun();
  ClusterRun(const ClusterRun&) = delete;
  ClusterRun& operator=(const ClusterRun&) = delete;

  int process() const { return cluster_->rank(); }
  std::uint64_t generation() const { return generation_; }
  const std::shared_ptr<RunControl>& control() const { return control_; }
  /// This process's end of the link to each other one with which it shares edges.
  std::map<int, std::shared_ptr<Link>> links() const;
  /// Those of the plan, where the context has none.
  void add_communicators(SpawnContext& context) const;

 private:
  std::string name(const std::string& what) const { return "plan " + std::to_string(generation_) + "/" + what; }
  void control_all_parts();

  std::shared_ptr<Cluster> cluster_;
  const Plan& plan_;
  std::uint64_t generation_;
  std::shared_ptr<RunControl> control_;
  std::vector<std::unique_ptr<RemotePart>> remote_parts_;
  std::shared_ptr<const Cluster::OnLost> on_lost_;
};

}  // namespace troupe
