#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/strategies/server_places.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe::examples {

/// The flags of the program, as given or by default.
struct Flags {
  std::string model = "mlp";
  std::string strategy = "mirrored";
  int replicas = 0;     ///< 0 by default: every core
  std::string devices;  ///< empty by default: all GPUs, or a core for each replica
  int parts = 1;
  std::string grain_name = "fused";
  Grain grain = Grain::fused;
  std::int64_t epochs = 5;
  std::int64_t batch_size = 128;
  std::int64_t bucket_bytes = 0;  ///< 0 by default: the strategy's default
  std::string all_reduce = "direct", hook = "none";
  std::string sharding = "auto";
  std::int64_t prefetch = 0;
  std::int64_t keep_on_devices = Dataset::kKeptOnDevices;
  int threads = 0;  ///< threads of the actor system; 0 by default: one per core
  int servers = 1;  ///< processes that hold the parameters
  int workers = 0;  ///< in all processes; 0 by default: every core
  std::string partition = "none", placement = "fewest_elements";
  std::string consistency = "sync";
  std::int64_t staleness = 0;
  int backup = 0;
  std::int64_t local_steps = 8;
  std::string optimizer = "adam";
  double learning_rate = 0.0;  ///< 0 by default: the optimizer's default
  std::string schedule = "cosine";
  double momentum = 0.9;
  std::uint64_t seed = 0;
  std::filesystem::path data;
  std::filesystem::path report, loss_curve, dump_plan, trace;
  std::filesystem::path record, replay;

  JobFlags job;
  std::string bind;
  std::string secret_file;
  int wait_seconds = 60;
  double lost_after_seconds = 2.5;
  int local_processes = 1;  ///< processes of the job on this machine, from the launcher
  int local_rank = 0;       ///< rank of this process among them

  bool is_multi_worker() const { return strategy == "multi_worker_mirrored"; }
  /// Whether the parameters are on servers.
  bool has_servers() const;
  /// Whether there may be several processes.
  bool spans_processes() const { return is_multi_worker() || has_servers(); }
  /// The devices of the replicas of one process.
  std::vector<Device> local_devices() const;

  /// The number of replicas that the strategy gets in each process.
  int replica_count() const;
  /// The place of each replica: on the given devices, on the GPUs round-robin, or each on its own core, with equal
  /// numbers in all parts.
  std::vector<Place> places() const;
  /// The number of CPU devices that the places need.
  int device_count() const;
  /// The optimizer, with its schedule over this number of steps.
  Optimizer make_optimizer(std::int64_t steps, int workers_in_all) const;
  /// `cluster` may be null.
  std::unique_ptr<Strategy> make_strategy(Cluster* cluster) const;

 private:
  /// The given devices, or else all GPUs that this process may use, or its cores. None if the replicas are counted on
  /// cores.
  std::vector<Device> usable_devices() const;
  Device device_of(int replica) const;
  ConsistencyRule rule(int workers_in_all) const;
  ServerPlaces server_places(const Cluster* cluster) const;
  std::unique_ptr<Strategy> make_with_servers(const Cluster* cluster) const;
};

/// The result of parsing the command line. If parsing ends the program (--help, or a wrong flag), `exit_code` is set
/// and the message has been printed.
struct ParsedFlags {
  Flags flags;
  int exit_code = -1;
};

ParsedFlags parse_flags(int argc, char** argv);

}  // namespace troupe::examples
