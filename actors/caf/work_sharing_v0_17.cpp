#include "troupe/actors/caf/work_sharing_v0_17.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <string>

namespace troupe {

namespace {

std::size_t number(caf::scheduler::abstract_coordinator* coordinator, const std::string& name, std::size_t otherwise) {
  return caf::get_or(coordinator->system().config(), name, otherwise);
}

}  // namespace

WorkSharing::coordinator_data::coordinator_data(caf::scheduler::abstract_coordinator* coordinator)
    : jobs(number(coordinator, "scheduler.max-threads", 1),
           std::chrono::microseconds(number(coordinator, kPollOption, 0))) {}

}  // namespace troupe
