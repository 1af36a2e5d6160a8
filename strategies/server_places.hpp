#pragma once

#include <functional>
#include <vector>

#include "troupe/actors/plan/place.hpp"

namespace troupe {

class Cluster;

/// Where the workers and servers of a job with several processes live, and where evaluation runs; empty: where the
/// strategy chooses.
struct ServerPlaces {
  std::vector<Place> workers, servers, evaluators;
};

/// If processes have roles, by these: a worker on each of the devices of every process with that role, and `servers`
/// servers, at least one each, on the processes with that role in turn. If none has, every process has workers, and
/// server i lives in process i, modulo their number. CPU devices are counted over the processes of a machine. Throws
/// Error if some processes have a role and others none, or nobody holds parameters or computes.
ServerPlaces server_places(const Cluster& cluster, const std::vector<Device>& devices, int servers);
/// As above, where the devices of a process follow from its local rank, how many lower ranks share its machine: such as
/// each its own GPU.
using DevicesOfLocalRank = std::function<std::vector<Device>(int local_rank)>;
ServerPlaces server_places(const Cluster& cluster, const DevicesOfLocalRank& devices_of, int servers);

}  // namespace troupe
