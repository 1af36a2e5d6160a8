// What workers in one process push to and pull from a shard in another, beside what a bare link between the same two
// carries when tensors of that size go to and fro: as many at once as there are workers. By turns. The workers'
// gradients cost next to nothing, so that all time is that of the exchange, and of the shard.

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

#include "troupe/bench/repetitions.hpp"
#include "troupe/ops/elementwise.hpp"
#include "troupe/ops/reduce.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/transport/cluster/cluster.hpp"
#include "troupe/transport/link_reader.hpp"

using namespace troupe;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{30};

struct Setting {
  int rank = 0;
  int port = 29'500;
  std::int64_t elements = 4 << 20;
  std::int64_t steps = 100;
  int workers = 2;
  int repetitions = 7;
  bool network = false;

  double bytes() const { return 2.0 * 4.0 * static_cast<double>(elements * steps); }
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Rank 0 sends a tensor for each worker; rank 1 sends one back for each that it has read, and rank 0 the next.
double over_link(const Setting& setting, LinkReader& reader, const std::vector<Tensor>& to_send, const Tensor& read) {
  const auto guard = std::make_shared<PayloadGuard>();
  const auto begin = Clock::now();
  std::int64_t sent = 0;
  const auto send = [&] {
    const auto& tensor = to_send[static_cast<std::size_t>(sent) % to_send.size()];
    reader.link().send({{.type = FrameType::tensor_ready}, tensor, sent++, guard});
  };
  for (int i = 0; setting.rank == 0 && i < setting.workers; ++i) send();
  for (std::int64_t i = 0; i < setting.steps; ++i) {
    auto frame = reader.receive(kLimit);
    if (!frame) throw Error("push_pull", "nothing comes");
    frame->payload->read(0, {read.mutable_raw(), read.bytes()});
    frame.reset();
    if (setting.rank == 1 || sent < setting.steps) send();
  }
  return setting.bytes() / seconds_since(begin) / 1e9;
}

/// One large parameter: its gradient is a number for all elements.
Model model(std::int64_t elements) {
  return [elements](Value x) {
    const auto w = x.builder().parameter("w", Shape{elements}, Initializer::zeros());
    return x * reduce_sum(w, std::vector<std::int64_t>{0});
  };
}

Loss loss() {
  return [](const Outputs& outputs, const Inputs&) { return outputs[""] * 1e-9; };
}

double over_shard(const Setting& setting, Trainer& trainer, const Dataset& data) {
  const auto result = trainer.fit(data, {.epochs = 1, .max_steps = setting.steps});
  return setting.bytes() / result.seconds / 1e9;
}

void measure(const Setting& setting) {
  ClusterOptions options;
  options.job = resolve_job({setting.rank, 2, "127.0.0.1:" + std::to_string(setting.port)});
  options.same_host = !setting.network;
  const auto cluster = join_cluster(options);
  LinkReader reader(cluster->data_link(1 - setting.rank, "bench"));
  std::vector<Tensor> to_send;
  for (int i = 0; i < setting.workers; ++i) to_send.emplace_back(Shape{setting.elements}, DType::float32);
  const Tensor read(Shape{setting.elements}, DType::float32);
  const Tensor x(Shape{setting.steps * setting.workers}, DType::float32);
  std::ranges::fill(x.mutable_data<float>(), 1.0F);
  const auto data = Dataset::from_arrays({{"x", x}}).batch(setting.workers);
  const Runtime runtime({.workers = 1, .cpu_devices = setting.workers});
  std::vector<Place> workers;
  for (int i = 0; i < setting.workers; ++i) workers.push_back({1, {DeviceType::cpu, i}});
  const ParameterServer strategy(workers, {Place{}}, ConsistencyRule::asynchronous(setting.workers));
  Trainer trainer(runtime, strategy, model(setting.elements), Sgd{.lr = 0.1}, loss(), {.cluster = cluster});
  auto figures = bench::alternate({{"shard", [&] { return over_shard(setting, trainer, data); }},
                                   {"link", [&] { return over_link(setting, reader, to_send, read); }}},
                                  setting.repetitions);
  cluster->leave();
  if (setting.rank != 0) return;
  std::printf("%s, %d workers, %.1f MB: pushed and pulled %.2f GB/s, bare link %.2f GB/s, ratio %.2f\n",
              setting.network ? "tcp" : "ipc", setting.workers, 4e-6 * static_cast<double>(setting.elements),
              bench::median(figures["shard"]), bench::median(figures["link"]),
              bench::median_ratio(figures["shard"], figures["link"]));
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  CLI::App app("Throughput of pushes and pulls against a bare link", "push_pull");
  app.add_option("--elements", setting.elements, "of the parameters")->check(CLI::Range(1, 1 << 28));
  app.add_option("--steps", setting.steps, "a measurement")->check(CLI::Range(4, 1 << 20));
  app.add_option("--workers", setting.workers)->check(CLI::Range(1, 64));
  app.add_option("--repetitions", setting.repetitions)->check(CLI::Range(1, 100));
  app.add_flag("--network", setting.network, "use the network as between machines");
  CLI11_PARSE(app, argc, argv);
  setting.port = 20'000 + getpid() % 10'000;
  const auto child = fork();
  setting.rank = child == 0 ? 1 : 0;
  try {
    measure(setting);
  } catch (const std::exception& error) {
    std::cerr << "push_pull: " << error.what() << std::endl;
    return 1;
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
