#include "troupe/actors/spawn/connections.hpp"

#include <algorithm>
#include <future>

#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/actors/spawn/wiring.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe {

namespace {

/// Makes a communicator on devices for a plan all of whose parts are in this process. Returns an end for each process
/// of the communicator, in the order of processes_of(). Each end is made on a thread of its own, because making an end
/// waits for the other ends. If making one fails, `check` ends the waits of the others, and the exception of the first
/// failure is thrown.
std::vector<std::shared_ptr<Communicator>> make_device_ends(const PlanCommunicator& named) {
  const auto processes = processes_of(named);
  const auto across = make_local_group(static_cast<int>(processes.size()));
  std::mutex mutex;
  std::exception_ptr first_error;
  const auto check = [&] {
    std::lock_guard lock(mutex);
    if (first_error) std::rethrow_exception(first_error);
  };
  std::vector<std::shared_ptr<Communicator>> ends(processes.size());
  const auto make = [&](std::size_t i) {
    const auto rank = [&, i](const std::string&, const std::vector<int>&) { return across[i]; };
    try {
      ends[i] = make_device_communicator(named, processes[i], {.make_across = rank, .check = check});
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!first_error) first_error = std::current_exception();
    }
  };
  std::vector<std::future<void>> making;
  const SignalsBlocked blocked;
  for (std::size_t i = 0; i < ends.size(); ++i) making.push_back(std::async(std::launch::async, make, i));
  for (auto& one : making) one.wait();
  check();
  return ends;
}

}  // namespace

void make_communicators(const Plan& plan, std::vector<PartSetup>& parts) {
  for (const auto& named : plan.communicators) {
    const bool given = std::any_of(parts.begin(), parts.end(), [&](const PartSetup& part) {
      return part.context.communicators.contains(named.name);
    });
    if (given) continue;
    const auto ends =
        named.devices.empty() ? make_local_group(static_cast<int>(named.processes.size())) : make_device_ends(named);
    for (const auto& end : ends)
      parts[static_cast<std::size_t>(named.processes[end->rank()])].context.communicators[named.name].push_back(end);
  }
}

std::vector<std::map<int, std::shared_ptr<Link>>> make_links(int parts) {
  std::vector<std::map<int, std::shared_ptr<Link>>> links(static_cast<std::size_t>(parts));
  for (int a = 0; a < parts; ++a)
    for (int b = a + 1; b < parts; ++b) std::tie(links[a][b], links[b][a]) = make_memory_link();
  return links;
}

ClusterRun::ClusterRun(std::shared_ptr<Cluster> cluster, const CheckedPlan& plan,
                       std::optional<std::uint64_t> generation)
    : cluster_(std::move(cluster)),
      plan_(plan),
      peers_(Wiring(plan, process()).peers()),
      generation_(generation ? *generation : cluster_->next_generation()) {
  if (plan->processes() > cluster_->size())
    throw Error("plan", "has parts for " + std::to_string(plan->processes()) + " processes, but the job has " +
                            std::to_string(cluster_->size()));
  if (!generation) agree_on_plan();
  for (const int process : plan->expendable) returns_[process] = cluster_->returns(process);
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
  stop_replacing_links();
  control_->close();
}

void ClusterRun::stop_replacing_links() {
  if (!watch_) return;
  std::lock_guard lock(watch_->mutex);
  watch_->run = nullptr;
}

void ClusterRun::agree_on_plan() const {
  const auto lost = cluster_->expendable();
  for (const auto& actor : plan_->actors) {
    const auto process = actor.place.process;
    if (lost.contains(process) && std::ranges::find(plan_->expendable, process) == plan_->expendable.end())
      throw Error("plan", "'" + actor.name + "' is in process " + std::to_string(process) +
                              ", which may be lost, but the plan cannot do without it");
  }
  cluster_->agree("plan " + std::to_string(generation_), hash_of(*plan_), [this] { return to_text(*plan_); });
}

bool ClusterRun::has_sources(int process) const {
  return std::ranges::any_of(plan_->actors, [&](const PlanActor& actor) {
    return actor.place.process == process && actor.pacing == Pacing::source;
  });
}

void ClusterRun::control_all_parts() {
  coordinator_ = std::make_shared<RunCoordinator>();
  const auto expendable = cluster_->expendable();
  for (int other = 1; other < cluster_->size(); ++other) {
    // An expendable process takes part only in plans that have actors in that process.
    if (expendable.contains(other) && !returns_.contains(other)) continue;
    add_remote_part(other, expendable.contains(other) ? Attendance::expected : Attendance::needed);
  }
  control_ = coordinator_;
}

void ClusterRun::add_remote_part(int process, Attendance attendance) {
  remote_parts_.push_back(std::make_unique<RemotePart>(coordinator_, cluster_->control_link(process, name("control")),
                                                       process, has_sources(process), attendance));
}

void ClusterRun::replace_links_with(std::function<void(int process, std::shared_ptr<Link> link)> replace) {
  replace_ = std::move(replace);
  watch_ = std::make_shared<Watch>();
  watch_->run = this;
  on_returned_ = cluster_->on_returned([watch = watch_](int process) {
    std::lock_guard lock(watch->mutex);
    if (watch->run != nullptr) watch->run->note_returned(process);
  });
  std::lock_guard lock(watch_->mutex);
  for (const int process : plan_->expendable) note_returned(process);
}

void ClusterRun::note_returned(int process) {
  const auto noted = returns_.find(process);
  const auto returns = cluster_->returns(process);
  if (noted == returns_.end() || noted->second == returns) return;
  noted->second = returns;
  // If the process returned while links were made here, some of them lead to the new process already. Making such a
  // link again throws, and says nothing about the other link.
  const auto make_anew = [](const auto& make) {
    try {
      make();
    } catch (const Error&) {
      // The link leads to the new process.
    }
  };
  if (std::ranges::find(peers_, process) != peers_.end())
    make_anew([&] { replace_(process, cluster_->data_link(process, name("edges"))); });
  if (coordinator_) make_anew([&] { add_remote_part(process, Attendance::late_comer); });
}

std::map<int, std::shared_ptr<Link>> ClusterRun::links() const {
  std::map<int, std::shared_ptr<Link>> links;
  for (const int peer : peers_) links[peer] = cluster_->data_link(peer, name("edges"));
  return links;
}

void ClusterRun::add_communicators(SpawnContext& context) const {
  for (const auto& named : plan_->communicators) {
    if (std::ranges::find(named.processes, process()) == named.processes.end()) continue;
    const auto [entry, is_missing] = context.communicators.try_emplace(named.name);
    if (is_missing) entry->second = make_ends(named);
  }
}

std::vector<std::shared_ptr<Communicator>> ClusterRun::make_ends(const PlanCommunicator& named) const {
  if (named.devices.empty()) return cluster_->communicator(name(named.name), named.processes, named.all_reduce);
  const auto make_across = [this, &named](const std::string& part, const std::vector<int>& processes) {
    const auto group = cluster_->communicator(name(named.name + part), processes);
    return *std::ranges::find_if(group, [](const auto& rank) { return rank != nullptr; });
  };
  const auto check = [this] {
    if (const auto why = cluster_->lost()) throw Aborted(why);
  };
  const auto machine_of = [this](int process) { return cluster_->machine(process); };
  return {make_device_communicator(named, process(), {make_across, machine_of, check})};
}

}  // namespace troupe
