#pragma once

#include <functional>
#include <vector>

#include "troupe/actors/plan/place.hpp"

namespace troupe {

class Cluster;

/// The places of workers, servers and evaluation in a job with several processes. If `evaluators` is empty, the
/// strategy chooses the places of evaluation; see Strategy::forward_places().
struct ServerPlaces {
  std::vector<Place> workers, servers, evaluators;
};

/// A function that returns the devices of a process. The local rank of a process is the number of processes on its
/// machine with lower ranks.
using DevicesOfLocalRank = std::function<std::vector<Device>(int local_rank)>;
/// Returns places by the roles that the launcher has given the processes. With roles, a worker runs on each device of
/// every worker process, and evaluation on each device of every evaluator process; `servers` servers, but at least one
/// per server process, lie round robin on the server processes. Without roles, a worker runs on each device of every
/// process, and `servers` servers, but at least one, lie round robin on all processes. CPU devices are counted over the
/// processes of a role on a machine: with n per process, cpu:0 of the second process is cpu:n. Throws Error if some
/// processes have a role and others none, or if there are roles but no worker process or no server process.
ServerPlaces server_places(const Cluster& cluster, const DevicesOfLocalRank& devices_of, int servers);
/// Returns places by the roles of the processes, for a job in which all processes have the devices `devices`.
inline ServerPlaces server_places(const Cluster& cluster, const std::vector<Device>& devices, int servers) {
  return server_places(cluster, DevicesOfLocalRank([&](int) { return devices; }), servers);
}

}  // namespace troupe
