#include "troupe/examples/fashion_mnist/flags.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>

#include "troupe/examples/device_flags.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/regular_file.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/step/gradient_hook.hpp"
#include "troupe/strategies/step/partitioner.hpp"
#include "troupe/transport/membership/cluster_group.hpp"

namespace troupe::examples {

namespace {

const std::vector<std::string> kStrategies{
    "one_device", "mirrored", "multi_worker_mirrored", "parameter_server", "central_storage", "local_sgd", "diloco"};

/// CLI11's check for positive numbers accepts NaN.
std::string finite_and_positive(const std::string& text) {
  double value = 0.0;
  const bool good = CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value > 0.0;
  return good ? "" : "must be a positive number, not " + text;
}

/// The error of a file that a flag names, found before the training. Empty if there is none.
std::string unusable_file(const Flags& flags) {
  const std::pair<const char*, const std::filesystem::path&> written[] = {{"--report", flags.report},
                                                                          {"--loss-curve", flags.loss_curve},
                                                                          {"--dump-plan", flags.dump_plan},
                                                                          {"--trace", flags.trace},
                                                                          {"--record", flags.record}};
  for (const auto& [flag, file] : written) {
    if (file.empty()) continue;
    try {
      expect_writable_file(flag, file);
    } catch (const Error& error) {
      return error.what();
    }
  }
  if (!flags.replay.empty() && !std::filesystem::is_regular_file(flags.replay))
    return "--replay: '" + flags.replay.string() + "' does not exist or is no regular file";
  return {};
}

/// The contradiction between flags that are valid one by one. Empty if there is none.
std::string contradiction(const Flags& flags) {
  const auto given = flags.devices.empty() ? 0 : static_cast<int>(parse_devices(flags.devices).size());
  if (flags.strategy == "one_device" && flags.replicas > 1)
    return "--replicas: one_device has one replica, not " + std::to_string(flags.replicas);
  if (flags.strategy == "one_device" && given > 1)
    return "--devices: one_device has one device, not " + std::to_string(given);
  if (!flags.has_servers() && (flags.workers > 0 || flags.servers > 1))
    return "--servers and --workers are for strategies with parameters on servers";
  if (!flags.has_servers() && (flags.partition != "none" || flags.placement != "fewest_elements"))
    return "--partition and --placement are for strategies with parameters on servers";
  if (!flags.has_servers() && !(flags.record.empty() && flags.replay.empty()))
    return "--record and --replay are for strategies with parameters on servers";
  if (flags.strategy == "central_storage" && flags.servers > 1) return "--servers: central_storage has one";
  if (flags.hook != "none" &&
      (flags.strategy == "one_device" || flags.strategy == "local_sgd" || flags.strategy == "diloco"))
    return "--hook: no gradients travel with " + flags.strategy;
  if (flags.strategy != "parameter_server" && flags.consistency != "sync")
    return "--consistency is for --strategy parameter_server";
  if (flags.staleness > 0 && flags.consistency != "bounded") return "--staleness is for --consistency bounded";
  if (flags.backup > 0 && flags.consistency != "backup") return "--backup is for --consistency backup";
  if (flags.backup >= flags.replica_count() && flags.backup > 0)
    return "--backup: " + std::to_string(flags.backup) + " of " + std::to_string(flags.replica_count()) +
           " workers leave no worker to wait for";
  if (const auto problem = unusable_file(flags); !problem.empty()) return problem;
  if (given > 0 && flags.replicas > 0 && flags.replicas != given)
    return "--devices gives " + std::to_string(given) + " replicas, but --replicas " + std::to_string(flags.replicas);
  if (!flags.spans_processes() && (flags.job.rank || flags.job.world_size || !flags.job.rendezvous.empty()))
    return "--rank, --world-size and --rendezvous are for strategies over processes, not " + flags.strategy;
  if (!flags.has_servers() && flags.job.role) return "--role is for strategies with parameters on servers";
  if (!is_available(all_reduce_algorithm_of(flags.all_reduce)))
    return flags.all_reduce == "mpi" ? "--all-reduce: this build has no MPI; configure with TROUPE_MPI=ON"
                                     : "--all-reduce: this build has no NCCL, or it cannot be loaded";
  if (flags.is_multi_worker() && flags.parts > 1) return "--parts: multi_worker_mirrored has processes in their place";
  if (flags.parts > flags.replica_count())
    return "--parts: " + std::to_string(flags.parts) + " parts for " + std::to_string(flags.replica_count()) +
           " replicas";
  return "";
}

void declare_cluster(CLI::App& app, Flags& flags) {
  app.add_option("--rank", flags.job.rank, "this process's rank, where no launcher says it")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--world-size", flags.job.world_size, "number of processes")->check(CLI::Range(1, 1 << 20));
  app.add_option("--rendezvous", flags.job.rendezvous, "host:port at which rank 0 waits for the others");
  app.add_option_function<std::string>(
         "--role", [&](const std::string& role) { flags.job.role = process_role_of(role); },
         "of this process: chief, ps, worker or evaluator (default: as TF_CONFIG says, else every process computes)")
      ->check(CLI::IsMember({"chief", "ps", "worker", "evaluator"}));
  app.add_option("--run-id", flags.job.run_id, "tells jobs apart that use the same address");
  app.add_option("--bind", flags.bind, "where to listen: an address of this machine, or any (default: loopback alone)");
  app.add_option("--secret-file", flags.secret_file,
                 "file with the secret of the job, needed to listen beyond loopback (default: TROUPE_SECRET)");
  app.add_option("--wait", flags.wait_seconds, "seconds to wait for the other processes")->check(CLI::Range(1, 86'400));
  app.add_option("--lost-after", flags.lost_after_seconds, "seconds without a sign of life after which one is lost")
      ->check(CLI::Range(0.5, 3600.0));
}

void declare_servers(CLI::App& app, Flags& flags) {
  app.add_option("--servers", flags.servers, "servers that hold the parameters")->check(CLI::Range(1, 1024));
  app.add_option("--workers", flags.workers,
                 "workers that compute gradients, in all processes (default: every GPU, else every core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--consistency", flags.consistency, "of the parameters: sync, backup, bounded, async or compensated")
      ->check(CLI::IsMember({"sync", "backup", "bounded", "async", "compensated"}));
  app.add_option("--staleness", flags.staleness, "bounded: updates by which parameters may be older than the newest")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  app.add_option("--record", flags.record, "write the order in which the servers do things");
  app.add_option("--replay", flags.replay, "do them in the order of such a file: the same parameters come out");
  app.add_option("--local-steps", flags.local_steps, "local_sgd, diloco: steps between two meetings of the workers")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--partition", flags.partition, "of parameters: none, fixed:SHARDS, min_size:BYTES or max_size:BYTES")
      ->check(readable_by([](const std::string& text) { partitioner_of(text, 1); }));
  app.add_option("--placement", flags.placement, "of shards on servers: fewest_elements or round_robin")
      ->check(CLI::IsMember({"fewest_elements", "round_robin"}));
  app.add_option("--backup", flags.backup, "backup: workers whose gradients an update does not wait for")
      ->check(CLI::Range(0, 1024));
}

void declare(CLI::App& app, Flags& flags) {
  const CLI::Range positive(std::int64_t{1}, std::int64_t{1} << 40);
  app.add_option("--model", flags.model, "mlp or cnn")->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--strategy", flags.strategy, "how the training is distributed")->check(CLI::IsMember(kStrategies));
  app.add_option("--replicas", flags.replicas,
                 "replicas of mirrored (default: every GPU, else every core), or of each process")
      ->check(CLI::Range(1, 1024));
  app.add_option(
         "--devices", flags.devices,
         "where the replicas live, such as cuda:0,cuda:1, or cpu:0*2 to share one (default: all GPUs, else the cores)")
      ->check(readable_by(parse_devices));
  declare_precision(app);
  app.add_option("--parts", flags.parts, "spread the replicas over this number of parts, joined by links in memory")
      ->check(CLI::Range(1, 64));
  declare_servers(app, flags);
  declare_cluster(app, flags);
  app.add_option("--grain", flags.grain_name, "per-op, chains or fused")
      ->check(CLI::IsMember({"per-op", "chains", "fused"}));
  app.add_option("--epochs", flags.epochs, "times through the training data")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  app.add_option("--batch-size", flags.batch_size, "rows of a batch of all replicas together")->check(positive);
  app.add_option("--bucket-bytes", flags.bucket_bytes, "size of a bucket of gradients")->check(positive);
  app.add_option("--hook", flags.hook,
                 "makes gradients smaller: none, float16, bfloat16, top_k:SHARE or power_sgd:RANK")
      ->check(readable_by([](const std::string& text) { gradient_hook_of(text); }));
  app.add_option("--all-reduce", flags.all_reduce, "how processes and GPUs sum: direct, ring, hierarchy, mpi or nccl")
      ->check(CLI::IsMember({"direct", "ring", "hierarchy", "mpi", "nccl"}));
  app.add_option("--sharding", flags.sharding, "how processes share the training data: auto, off, file or data")
      ->check(CLI::IsMember({"auto", "off", "file", "data"}));
  app.add_option("--prefetch", flags.prefetch, "batches to load ahead on another thread")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1024}));
  app.add_option("--keep-on-devices", flags.keep_on_devices,
                 "bytes of data that GPUs keep whole, 0: none (larger data: each batch is copied there)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  app.add_option("--threads", flags.threads, "of the actor system")->check(CLI::Range(1, 1024));
  app.add_option("--optimizer", flags.optimizer, "sgd, momentum or adam")
      ->check(CLI::IsMember({"sgd", "momentum", "adam"}));
  app.add_option("--lr", flags.learning_rate, "learning rate")->check(finite_and_positive);
  app.add_option("--schedule", flags.schedule, "of the learning rate: constant, or cosine (down to 0 at the end)")
      ->check(CLI::IsMember({"constant", "cosine"}));
  app.add_option("--momentum", flags.momentum, "of the optimizer momentum")->check(CLI::Range(0.0, 0.9999));
  app.add_option("--seed", flags.seed, "for start values and the order of the data");
  app.add_option("--data", flags.data, "directory with the four files of the data set");
  app.add_option("--report", flags.report, "write a report as JSON");
  app.add_option("--loss-curve", flags.loss_curve, "write the loss of every step, one per line");
  app.add_option("--dump-plan", flags.dump_plan, "write the plan as text (as DOT if the file ends in .dot)");
  app.add_option("--trace", flags.trace, "record every firing, for chrome://tracing");
}

}  // namespace

ParsedFlags parse_flags(int argc, char** argv) {
  ParsedFlags parsed;
  auto& flags = parsed.flags;
  flags.data = kFashionMnistDirectory;
  CLI::App app("Trains a model on Fashion-MNIST with every GPU, or every core, as a replica.", "fashion_mnist");
  declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    parsed.exit_code = app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::cerr << "fashion_mnist: " << error.what() << std::endl;
    parsed.exit_code = 2;
  }
  const auto problem = parsed.exit_code < 0 ? contradiction(flags) : "";
  if (!problem.empty()) {
    std::cerr << "fashion_mnist: " << problem << std::endl;
    parsed.exit_code = 2;
  }
  if (parsed.exit_code < 0) flags.grain = parse_grain(flags.grain_name);
  return parsed;
}

}  // namespace troupe::examples
