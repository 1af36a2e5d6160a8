#include "troupe/actors/run/parts_together.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// All ranks are in the first process that has one.
void make_device_communicator(const PlanCommunicator& named, std::vector<PartSetup>& parts) {
  auto& known = parts[static_cast<std::size_t>(named.processes.front())].context.device_communicators[named.name];
  if (!known) known = make_device_group(named.devices);
}

}  // namespace

void make_communicators(const Plan& plan, std::vector<PartSetup>& parts) {
  for (const auto& named : plan.communicators) {
    if (!named.devices.empty()) {
      make_device_communicator(named, parts);
      continue;
    }
    const bool given = std::any_of(parts.begin(), parts.end(), [&](const PartSetup& part) {
      return part.context.communicators.contains(named.name);
    });
    if (given) continue;
    const auto group = make_local_group(static_cast<int>(named.processes.size()));
    for (std::size_t process = 0; process < parts.size(); ++process) {
      auto& ranks = parts[process].context.communicators[named.name];
      ranks.resize(group.size());
      for (std::size_t rank = 0; rank < group.size(); ++rank)
        if (named.processes[rank] == static_cast<int>(process)) ranks[rank] = group[rank];
    }
  }
}

std::vector<std::map<int, std::shared_ptr<Link>>> make_links(int parts) {
  std::vector<std::map<int, std::shared_ptr<Link>>> links(static_cast<std::size_t>(parts));
  for (int a = 0; a < parts; ++a)
    for (int b = a + 1; b < parts; ++b) std::tie(links[a][b], links[b][a]) = make_memory_link();
  return links;
}

}  // namespace troupe
