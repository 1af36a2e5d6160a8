// Measures the cost of exchanging gradients beside computing them: a step of a model over processes, against computing
// alone (every process trains on its part of the batch and exchanges nothing) and exchanging alone (sums of tensors of
// the size of the gradient buckets). The three alternate. Processes are started by a launcher or with flags; rank 0
// prints.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <numeric>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/examples/models.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/transport/membership/cluster.hpp"

using namespace troupe;

namespace {

constexpr std::chrono::seconds kLimit{60};

struct Flags {
  JobFlags job;
  std::string model = "cnn";
  std::int64_t batch = 128;
  std::int64_t steps = 50;
  std::int64_t bucket_bytes = 0;  ///< 0: the strategy's default
  int repetitions = 7;
};

/// The bytes of the sums of a step, in the order of the sums.
std::vector<std::int64_t> sums_of(const Plan& plan) {
  std::vector<std::int64_t> bytes;
  for (const auto& actor : plan.actors)
    if (actor.role == ActorRole::collective && actor.replica == 0)
      bytes.push_back(static_cast<std::int64_t>(bytes_of(actor.outputs.at(0).info, 1)));
  return bytes;
}

/// Measures a training step in this process together with the others.
class Overlap {
 public:
  explicit Overlap(const Flags& flags)
      : flags_(flags), cluster_(join_cluster({.job = resolve_job(flags.job)})), data_(fashion_mnist(Split::train)) {
    std::vector<int> processes(static_cast<std::size_t>(cluster_->size()));
    std::iota(processes.begin(), processes.end(), 0);
    group_ = cluster_->communicator("bench", processes)[static_cast<std::size_t>(cluster_->rank())];
  }

  void run() {
    const Device device{DeviceType::cpu, cluster_->local_rank(cluster_->rank())};
    MirroredOptions options;
    if (flags_.bucket_bytes > 0) options.first_bucket_bytes = options.bucket_bytes = flags_.bucket_bytes;
    const MultiWorkerMirrored together(*cluster_, {{DeviceType::cpu, 0}}, options);
    const OneDevice alone(device);
    Trainer shared(runtime_, together, examples::model_named(flags_.model), Adam{}, SoftmaxCrossEntropy{},
                   {.cluster = cluster_});
    Trainer separate(runtime_, alone, examples::model_named(flags_.model), Adam{}, SoftmaxCrossEntropy{});
    const auto share = flags_.batch / cluster_->size();
    auto figures = bench::alternate(
        {{"step", [&] { return step_seconds(shared, flags_.batch); }},
         {"compute", [&] { return step_seconds(separate, share); }},
         {"exchange", [&] { return exchange_seconds(sums_of(shared.training_plan(data_.batch(flags_.batch)))); }}},
        flags_.repetitions);
    std::vector<double> longer;
    for (std::size_t i = 0; i < figures["step"].size(); ++i)
      longer.push_back(std::max(figures["compute"][i], figures["exchange"][i]));
    if (cluster_->rank() == 0)
      std::printf(
          "%s, %d processes, batch %lld: step %.3f ms, compute alone %.3f ms, exchange alone %.3f ms, step / longer "
          "%.3f\n",
          flags_.model.c_str(), cluster_->size(), static_cast<long long>(flags_.batch),
          1e3 * bench::median(figures["step"]), 1e3 * bench::median(figures["compute"]),
          1e3 * bench::median(figures["exchange"]), bench::median_ratio(figures["step"], longer));
    cluster_->leave();
  }

 private:
  /// The time of the slowest process.
  double slowest(double seconds) {
    const Tensor all(Shape{cluster_->size()}, DType::float32);
    group_->all_gather(Tensor::scalar(static_cast<float>(seconds)), all)->wait(kLimit);
    return *std::ranges::max_element(all.data<float>());
  }

  double step_seconds(Trainer& trainer, std::int64_t batch) {
    group_->barrier()->wait(kLimit);
    double seconds = 0.0;
    trainer.fit(data_.take(batch * flags_.steps).batch(batch),
                {.epochs = 1, .on_epoch = [&](const EpochMetrics& epoch) { seconds = epoch.seconds; }});
    return slowest(seconds / static_cast<double>(flags_.steps));
  }

  double exchange_seconds(const std::vector<std::int64_t>& bytes) {
    std::vector<Tensor> tensors;
    for (const auto count : bytes) tensors.emplace_back(Shape{count / 4}, DType::float32);
    group_->barrier()->wait(kLimit);
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t step = 0; step < flags_.steps; ++step) {
      std::vector<std::shared_ptr<Work>> works;
      for (const auto& tensor : tensors) works.push_back(group_->all_reduce(tensor));
      for (const auto& work : works) work->wait(kLimit);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return slowest(seconds.count() / static_cast<double>(flags_.steps));
  }

  const Flags flags_;
  std::shared_ptr<Cluster> cluster_;
  Dataset data_;
  Runtime runtime_{{.workers = 1, .cpu_devices = cluster_->size()}};
  std::shared_ptr<Communicator> group_;
};

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app{"What exchanging gradients costs beside computing them"};
  app.add_option("--rank", flags.job.rank, "rank of this process");
  app.add_option("--world-size", flags.job.world_size, "number of processes");
  app.add_option("--rendezvous", flags.job.rendezvous, "host:port of rank 0");
  app.add_option("--model", flags.model, "mlp or cnn")->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--batch-size", flags.batch, "rows of a batch of all processes")->check(CLI::Range(2, 10'000));
  app.add_option("--steps", flags.steps, "of a measurement")->check(CLI::Range(1, 1'000));
  app.add_option("--bucket-bytes", flags.bucket_bytes, "size of a bucket of gradients")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", flags.repetitions, "of every measurement")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    Overlap(flags).run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "overlap: " << error.what() << std::endl;
    return 1;
  }
}
