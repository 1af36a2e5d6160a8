#include "troupe/actors/run/cluster_run.hpp"

#include <algorithm>

#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/actors/run/run_follower.hpp"
#include "troupe/actors/run/wiring.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

ClusterRun::ClusterRun(std::shared_ptr<Cluster> cluster, const Plan& plan)
    : cluster_(std::move(cluster)), plan_(plan), generation_(cluster_->next_generation()) {
  if (plan.processes() > cluster_->size())
    throw Error("plan", "has parts for " + std::to_string(plan.processes()) + " processes, but the job has " +
                            std::to_string(cluster_->size()));
  for (const auto& actor : plan.actors)
    if (const auto process = actor.place.process; cluster_->expendable().contains(process) &&
                                                  std::ranges::find(plan.expendable, process) == plan.expendable.end())
      throw Error("plan", "'" + actor.name + "' is in process " + std::to_string(process) +
                              ", which may be lost, but the plan cannot do without it");
  cluster_->agree("plan " + std::to_string(generation_), hash_of(plan), [&plan] { return to_text(plan); });
  if (process() == 0) {
    control_all_parts();
  } else {
    auto follower = std::make_shared<RunFollower>(cluster_->control_link(0, name("control")));
    follower->listen();
    control_ = std::move(follower);
  }
  on_lost_ = cluster_->on_lost([weak = std::weak_ptr(control_)](const FailurePtr& failure) {
    if (const auto control = weak.lock()) control->give_up(failure);
  });
}

ClusterRun::~ClusterRun() {
  control_->close();
}

void ClusterRun::control_all_parts() {
  auto coordinator = std::make_shared<RunCoordinator>();
  const auto expendable = cluster_->expendable();
  for (int other = 1; other < cluster_->size(); ++other) {
    const bool has_sources = std::any_of(plan_.actors.begin(), plan_.actors.end(), [&](const PlanActor& actor) {
      return actor.place.process == other && actor.pacing == Pacing::source;
    });
    auto link = cluster_->control_link(other, name("control"));
    const auto attendance =
        expendable.contains(other) ? RunCoordinator::Attendance::expected : RunCoordinator::Attendance::needed;
    remote_parts_.push_back(std::make_unique<RemotePart>(coordinator, std::move(link), other, has_sources, attendance));
  }
  control_ = std::move(coordinator);
}

std::map<int, std::shared_ptr<Link>> ClusterRun::links() const {
  std::map<int, std::shared_ptr<Link>> links;
  const Wiring wiring(plan_, process());
  for (const auto& node : wiring.nodes())
    if (node.peer != kNone) links[node.peer] = cluster_->data_link(node.peer, name("edges"));
  return links;
}

void ClusterRun::add_communicators(SpawnContext& context) const {
  for (const auto& [communicator, processes, all_reduce] : plan_.communicators) {
    if (context.communicators.contains(communicator)) continue;
    const bool takes_part = std::ranges::find(processes, process()) != processes.end();
    if (takes_part)
      context.communicators[communicator] = cluster_->communicator(name(communicator), processes, all_reduce);
  }
}

}  // namespace troupe
