#pragma once

#include <functional>
#include <vector>

#include "troupe/actors/plan/place.hpp"

namespace troupe {

class Cluster;

/// The places of workers, servers and evaluation in a job with several processes. Without evaluators the strategy
/// chooses the places of evaluation.
struct ServerPlaces {
  std::vector<Place> workers, servers, evaluators;
};

/// The devices of a process with this local rank, which is the number of lower ranks on its machine.
using DevicesOfLocalRank = std::function<std::vector<Device>(int local_rank)>;
/// Places by the roles of the processes. With roles, there is a worker on each of the devices of every worker process,
/// and `servers` servers, at least one each, lie round robin on the server processes. Without roles, every process has
/// workers, and servers lie round robin on all processes. CPU devices are counted over the processes of a machine.
/// Throws Error if some processes have a role and others none, or no process is a worker or a server.
ServerPlaces server_places(const Cluster& cluster, const DevicesOfLocalRank& devices_of, int servers);
/// Places by the roles, where all processes have the same devices.
inline ServerPlaces server_places(const Cluster& cluster, const std::vector<Device>& devices, int servers) {
  return server_places(cluster, DevicesOfLocalRank([&](int) { return devices; }), servers);
}

}  // namespace troupe
