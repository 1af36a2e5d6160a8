#include "troupe/actors/run/parts_together.hpp"

#include <algorithm>
#include <future>

#include "troupe/actors/run/device_groups.hpp"

namespace troupe {

namespace {

/// Parts of a group that wait for each other are made at the same time.
void make_device_communicators(const PlanCommunicator& named, std::vector<PartSetup>& parts) {
  const auto processes = processes_of(named);
  const auto across = make_local_group(static_cast<int>(processes.size()));
  std::vector<std::future<void>> making;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    auto& known = parts[static_cast<std::size_t>(processes[i])].context.device_communicators[named.name];
    if (known) continue;
    making.push_back(std::async(std::launch::async, [&, i] {
      known = make_device_communicator(named, processes[i], [&] { return across[i]; });
    }));
  }
  for (auto& one : making) one.wait();
  for (auto& one : making) one.get();
}

}  // namespace

void make_communicators(const Plan& plan, std::vector<PartSetup>& parts) {
  for (const auto& named : plan.communicators) {
    if (!named.devices.empty()) {
      make_device_communicators(named, parts);
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
