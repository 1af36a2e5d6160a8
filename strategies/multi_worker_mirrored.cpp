#include "troupe/strategies/multi_worker_mirrored.hpp"

#include <chrono>
#include <numeric>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/between_processes.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

namespace {

// The longest wait for the other processes in each exchange of numbers.
constexpr std::chrono::milliseconds kLimit{60'000};

/// Makes a communicator with one rank in every process. Null if there is only one process.
std::shared_ptr<Communicator> meet(Cluster& cluster) {
  if (cluster.size() == 1) return nullptr;
  std::vector<int> all(static_cast<std::size_t>(cluster.size()));
  std::iota(all.begin(), all.end(), 0);
  const auto name = "devices " + std::to_string(cluster.next_generation());
  return cluster.communicator(name, all)[static_cast<std::size_t>(cluster.rank())];
}

/// Returns the devices of all processes, in the order of their ranks. Throws Error unless all processes have the same
/// number of devices.
std::vector<Device> devices_of_all(Communicator& processes, const std::vector<Device>& local) {
  const auto counts = gathered_numbers(processes, {static_cast<std::int64_t>(local.size())}, kLimit);
  for (std::size_t process = 0; process < counts.size(); ++process)
    if (counts[process] != counts[0])
      throw Error("multi_worker_mirrored", "every process needs as many replicas as the others, but rank 0 has " +
                                               std::to_string(counts[0]) + " and rank " + std::to_string(process) +
                                               " has " + std::to_string(counts[process]));
  std::vector<std::int64_t> numbers;
  for (const auto& device : local) {
    numbers.push_back(static_cast<std::int64_t>(device.type));
    numbers.push_back(device.index);
  }
  const auto all = gathered_numbers(processes, numbers, kLimit);
  std::vector<Device> devices;
  for (std::size_t i = 0; i < all.size(); i += 2)
    devices.push_back({static_cast<DeviceType>(all[i]), static_cast<int>(all[i + 1])});
  return devices;
}

std::vector<Place> places_in(Communicator* processes, const Cluster& cluster, const std::vector<Device>& local) {
  const auto devices = processes == nullptr ? local : devices_of_all(*processes, local);
  const auto each = static_cast<int>(local.size());
  std::vector<Place> places;
  for (auto device : devices) {
    const auto process = static_cast<int>(places.size()) / each;
    if (is_host(device)) device.index += cluster.local_rank(process) * each;
    places.push_back({process, device});
  }
  return places;
}

}  // namespace

MultiWorkerMirrored::MultiWorkerMirrored(Cluster& cluster, const std::vector<Device>& devices, MirroredOptions options)
    : MultiWorkerMirrored(meet(cluster), cluster, devices, std::move(options)) {}

MultiWorkerMirrored::MultiWorkerMirrored(std::shared_ptr<Communicator> processes, const Cluster& cluster,
                                         const std::vector<Device>& devices, MirroredOptions options)
    : Mirrored(places_in(processes.get(), cluster, devices), std::move(options)), processes_(std::move(processes)) {}

}  // namespace troupe
