#include "troupe/actors/caf/scheduler.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/coordinator.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/settings.hpp>

#include "troupe/actors/caf/thread_start.hpp"
#include "troupe/actors/caf/work_sharing_v0_17.hpp"

namespace troupe {

std::unique_ptr<caf::actor_system> make_actor_system(caf::actor_system_config& config,
                                                     const SchedulerOptions& options) {
  config.add_thread_hook<ThreadStart>(options.on_thread_start);
  config.set("scheduler.max-threads", options.workers);
  config.set("scheduler.max-throughput", kMessagesPerTurn);
  if (options.one_by_one) {
    config.set("scheduler.policy", caf::atom("testing"));
  } else {
    caf::put(config.content, std::string(WorkSharing::kPollOption),
             static_cast<std::size_t>(options.busy_poll.count()));
    config.load<caf::scheduler::coordinator<WorkSharing>>();
  }
  return std::make_unique<caf::actor_system>(config);
}

bool run_one(caf::actor_system& system, const std::function<std::size_t(std::size_t count)>& draw) {
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  if (scheduler.jobs.empty()) return false;
  std::swap(scheduler.jobs.front(), scheduler.jobs[draw(scheduler.jobs.size())]);
  return scheduler.try_run_once();
}

void prefer_worker(caf::actor_system& system, const caf::actor& actor, std::size_t worker) {
  auto* scheduler = dynamic_cast<caf::scheduler::coordinator<WorkSharing>*>(&system.scheduler());
  if (scheduler != nullptr) scheduler->data().homes.set(actor.id(), worker);
}

}  // namespace troupe
