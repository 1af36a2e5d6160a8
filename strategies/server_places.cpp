#include "troupe/strategies/server_places.hpp"

#include <algorithm>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

namespace {

std::vector<int> processes_with(const Cluster& cluster, ProcessRole role) {
  std::vector<int> processes;
  for (int process = 0; process < cluster.size(); ++process)
    if (cluster.role(process) == role) processes.push_back(process);
  return processes;
}

std::vector<Place> on_devices(const Cluster& cluster, const std::vector<int>& processes,
                              const DevicesOfLocalRank& devices_of) {
  std::vector<Place> places;
  for (const int process : processes) {
    // The number of lower ranks among `processes` on the same machine.
    const auto before = std::ranges::count_if(
        processes, [&](int other) { return other < process && cluster.machine(other) == cluster.machine(process); });
    const auto devices = devices_of(cluster.local_rank(process));
    for (auto device : devices) {
      if (is_host(device)) device.index += static_cast<int>(before) * static_cast<int>(devices.size());
      places.push_back({process, device});
    }
  }
  return places;
}

/// Places servers on the processes, round robin. All servers are at cpu:0 of their processes, since servers have no
/// threads of their own.
std::vector<Place> in_turn(const std::vector<int>& processes, int servers) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < static_cast<std::size_t>(servers); ++i)
    places.push_back({processes[i % processes.size()], {DeviceType::cpu, 0}});
  return places;
}

}  // namespace

ServerPlaces server_places(const Cluster& cluster, const DevicesOfLocalRank& devices_of, int servers) {
  const auto any = processes_with(cluster, ProcessRole::any);
  if (static_cast<int>(any.size()) == cluster.size())
    return {on_devices(cluster, any, devices_of), in_turn(any, std::max(1, servers)), {}};
  if (!any.empty()) throw Error("cluster", "process " + std::to_string(any.front()) + " has no role, but others have");
  const auto holding = processes_with(cluster, ProcessRole::server);
  const auto computing = processes_with(cluster, ProcessRole::worker);
  if (holding.empty()) throw Error("cluster", "no process has the role ps, to hold parameters");
  if (computing.empty()) throw Error("cluster", "no process has the role worker");
  const auto evaluators = processes_with(cluster, ProcessRole::evaluator);
  return {on_devices(cluster, computing, devices_of),
          in_turn(holding, std::max(servers, static_cast<int>(holding.size()))),
          on_devices(cluster, evaluators, devices_of)};
}

}  // namespace troupe
