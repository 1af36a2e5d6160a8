#include "troupe/strategies/multi_worker_mirrored.hpp"

#include "troupe/transport/cluster/cluster.hpp"

namespace troupe {

namespace {

std::vector<Place> places_in(const Cluster& cluster, const std::vector<Device>& devices) {
  std::vector<Place> places;
  for (int process = 0; process < cluster.size(); ++process) {
    const auto first = cluster.local_rank(process) * static_cast<int>(devices.size());
    for (auto device : devices) {
      if (is_host(device)) device.index += first;
      places.push_back({process, device});
    }
  }
  return places;
}

}  // namespace

MultiWorkerMirrored::MultiWorkerMirrored(const Cluster& cluster, const std::vector<Device>& devices,
                                         MirroredOptions options)
    : Mirrored(places_in(cluster, devices), options) {}

}  // namespace troupe
