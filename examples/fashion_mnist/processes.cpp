#include "troupe/examples/fashion_mnist/processes.hpp"

#include <chrono>
#include <cmath>
#include <iostream>

#include "troupe/ops/data/data_files.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"

namespace troupe::examples {

namespace {

/// The flags that must be equal in all processes, and that the plan does not show, or shows less clearly.
Agreement agreement_of(const Flags& flags) {
  return {{"--model", flags.model},
          {"--strategy", flags.strategy},
          {"--consistency", flags.consistency},
          {"--workers", std::to_string(flags.workers)},
          {"--servers", std::to_string(flags.servers)},
          {"--replicas", std::to_string(flags.replica_count())},
          {"--grain", flags.grain_name},
          {"--epochs", std::to_string(flags.epochs)},
          {"--batch-size", std::to_string(flags.batch_size)},
          {"--optimizer", flags.optimizer},
          {"--lr", std::to_string(flags.learning_rate)},
          {"--schedule", flags.schedule},
          {"--sharding", flags.sharding},
          {"--seed", std::to_string(flags.seed)}};
}

}  // namespace

std::shared_ptr<Cluster> meet_processes(Flags& flags) {
  if (!flags.spans_processes()) return nullptr;
  ClusterOptions options;
  options.job = resolve_job(flags.job);
  if (flags.has_servers() && options.job.world_size == 1) return nullptr;
  flags.local_processes = std::max(1, options.job.local_size);
  flags.local_rank = std::max(0, options.job.local_rank);
  std::cout << to_string(options.job) << std::endl;
  options.agreement = agreement_of(flags);
  options.bind = flags.bind;
  options.secret_file = flags.secret_file;
  options.limit = std::chrono::seconds(flags.wait_seconds);
  options.heartbeat_limit = std::chrono::milliseconds(std::lround(flags.lost_after_seconds * 1000.0));
  options.on_notice = [](const std::string& line) { std::cerr << "fashion_mnist: " << line << std::endl; };
  return join_cluster(options);
}

Dataset training_data(const Flags& flags, const Cluster* cluster) {
  const auto read = [](const std::vector<std::filesystem::path>& directories) {
    return fashion_mnist(Split::train, directories.front());
  };
  const auto data = read_shard({flags.data}, read, cluster != nullptr ? cluster->rank() : 0,
                               cluster != nullptr ? cluster->size() : 1, data_sharding_of(flags.sharding));
  return data.shuffle(60'000).batch(flags.batch_size).prefetch(flags.prefetch).keep_on_devices(flags.keep_on_devices);
}

Dataset evaluation_data(const Flags& flags) {
  return fashion_mnist(Split::test, flags.data).batch(1000).keep_on_devices(flags.keep_on_devices);
}

Dataset in_shards(const Dataset& data, const Cluster* cluster) {
  if (cluster == nullptr || data.sharding() != DataSharding::off) return data;
  const std::vector<std::int64_t> rows(static_cast<std::size_t>(cluster->size()), data.rows());
  return data.in_layout({rows, cluster->rank()});
}

std::filesystem::path path_of_rank(const std::filesystem::path& path, const Cluster* cluster) {
  if (cluster == nullptr || cluster->size() == 1 || path.empty()) return path;
  return path.string() + "." + std::to_string(cluster->rank());
}

}  // namespace troupe::examples
