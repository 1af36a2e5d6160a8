// The meaning of the flags: optimizers, places and strategies.

#include <algorithm>

#include "troupe/actors/system/default_devices.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/examples/fashion_mnist/flags.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/central_storage.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/parameter_server.hpp"

namespace troupe::examples {

namespace {

/// A small value, as in the published experiments.
constexpr double kUsualCompensation = 0.04;

}  // namespace

std::vector<Device> Flags::usable_devices() const {
  if (!devices.empty()) return parse_devices(devices);
  const bool counted = replicas > 0 || workers > 0;
  const auto cores = std::max(1, usable_cores() / std::max(1, local_processes));
  auto usable = counted && gpus().empty() ? std::vector<Device>{} : default_devices(cores);
  const bool have_gpus = !usable.empty() && usable.front().type == DeviceType::cuda;
  // The processes of a machine share its GPUs round-robin.
  if (have_gpus && local_processes > 1) {
    std::vector<Device> own_gpus;
    for (auto i = static_cast<std::size_t>(local_rank); i < usable.size();
         i += static_cast<std::size_t>(local_processes))
      own_gpus.push_back(usable[i]);
    if (own_gpus.empty()) own_gpus.push_back(usable[static_cast<std::size_t>(local_rank) % usable.size()]);
    usable = own_gpus;
  }
  return usable;
}

Device Flags::device_of(int replica) const {
  const auto usable = usable_devices();
  if (usable.empty() || (devices.empty() && usable.front().type == DeviceType::cpu)) return {DeviceType::cpu, replica};
  return usable[static_cast<std::size_t>(replica) % usable.size()];
}

bool Flags::has_servers() const {
  return strategy == "parameter_server" || strategy == "central_storage" || strategy == "local_sgd" ||
         strategy == "diloco";
}

int Flags::replica_count() const {
  if (strategy == "one_device") return 1;
  if (has_servers() && workers > 0) return workers;
  if (replicas > 0 && devices.empty()) return replicas;
  return static_cast<int>(usable_devices().size());
}

std::vector<Device> Flags::local_devices() const {
  std::vector<Device> replica_devices;
  for (int replica = 0; replica < replica_count(); ++replica) replica_devices.push_back(device_of(replica));
  return replica_devices;
}

Optimizer Flags::make_optimizer(std::int64_t steps, int workers_in_all) const {
  const double usual = optimizer == "adam" ? 0.002 : (optimizer == "momentum" ? 0.05 : 0.1);
  const auto rate = learning_rate > 0.0 ? learning_rate : usual;
  // Schedules count updates.
  const auto updates = consistency == "backup" ? steps / rule(workers_in_all).quorum : steps;
  const auto lr = schedule == "cosine" && updates > 0 ? Schedule::cosine(rate, updates) : Schedule::constant(rate);
  if (optimizer == "adam") return Adam{.lr = lr};
  if (optimizer == "momentum") return Sgd{.lr = lr, .momentum = momentum};
  return Sgd{.lr = lr};
}

std::vector<Place> Flags::places() const {
  const auto count = replica_count();
  std::vector<Place> places;
  for (int replica = 0; replica < count; ++replica) places.push_back({replica * parts / count, device_of(replica)});
  return places;
}

int Flags::device_count() const {
  int highest = 0;
  for (const auto& place : places()) highest = std::max(highest, place.device.index);
  return highest + 1;
}

ConsistencyRule Flags::rule(int workers_in_all) const {
  if (consistency == "backup") return ConsistencyRule::with_backup(workers_in_all, backup);
  if (consistency == "bounded") return ConsistencyRule::bounded(workers_in_all, staleness);
  if (consistency == "async") return ConsistencyRule::asynchronous(workers_in_all);
  if (consistency == "compensated") return ConsistencyRule::compensated(workers_in_all, kUsualCompensation);
  return ConsistencyRule::synchronous(workers_in_all);
}

/// The places of servers and workers. The servers of a process have no threads of their own.
ServerPlaces Flags::server_places(const Cluster* cluster) const {
  if (cluster == nullptr) return {places(), std::vector<Place>(static_cast<std::size_t>(servers)), {}};
  const auto processes = static_cast<int>(troupe::server_places(*cluster, {Device{}}, servers).workers.size());
  if (workers % processes != 0)
    throw Error("flags", "--workers: " + std::to_string(workers) + " workers cannot be shared by " +
                             std::to_string(processes) + " processes");
  const auto devices_of = [&](int local_rank_of_other) {
    auto flags = *this;
    flags.local_rank = local_rank_of_other;
    if (workers > 0) flags.workers = workers / processes;
    return flags.local_devices();
  };
  return troupe::server_places(*cluster, devices_of, servers);
}

std::unique_ptr<Strategy> Flags::make_with_servers(const Cluster* cluster) const {
  const auto [at_workers, at_servers, evaluators] = server_places(cluster);
  const auto partitioner = partitioner_of(partition, static_cast<std::int64_t>(at_servers.size()));
  const ServerOptions options{.sharding = {partitioner, placement_of(placement)}, .hook = gradient_hook_of(hook)};
  const auto count = static_cast<int>(at_workers.size());
  std::unique_ptr<Strategy> with_servers;
  if (strategy == "central_storage")
    with_servers = std::make_unique<CentralStorage>(at_workers, at_servers.front(), options);
  if (strategy == "parameter_server")
    with_servers = std::make_unique<ParameterServer>(at_workers, at_servers, rule(count), options);
  if (strategy == "local_sgd")
    with_servers =
        std::make_unique<LocalSgd>(at_workers, at_servers, LocalSgdOptions{.local_steps = local_steps}, options);
  if (strategy == "diloco")
    with_servers =
        std::make_unique<DiLoCo>(at_workers, at_servers, local_steps, DiLoCo::kOuterLr, DiLoCo::kMomentum, options);
  with_servers->set_forward_places(evaluators);
  return with_servers;
}

std::unique_ptr<Strategy> Flags::make_strategy(Cluster* cluster) const {
  if (strategy == "one_device") return std::make_unique<OneDevice>(places().at(0));
  if (has_servers()) return make_with_servers(cluster);
  MirroredOptions options;
  if (bucket_bytes > 0) options.first_bucket_bytes = options.bucket_bytes = bucket_bytes;
  options.all_reduce = all_reduce_algorithm_of(all_reduce);
  options.hook = gradient_hook_of(hook);
  if (cluster != nullptr) return std::make_unique<MultiWorkerMirrored>(*cluster, local_devices(), options);
  return std::make_unique<Mirrored>(places(), options);
}

}  // namespace troupe::examples
