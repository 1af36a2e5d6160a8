// Measures what workers in one process push to and pull from a shard in another, alternately with a plain link between
// the same two processes that carries tensors of that size in both directions, one for each worker at a time. The
// workers compute nothing, so all time is spent on the exchange and on the shard, which applies every gradient.

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/shard/block_shard.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/transport/link_reader.hpp"
#include "troupe/transport/membership/cluster.hpp"

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

/// Rank 0 sends a tensor for each worker. Rank 1 sends one back for each that it has read, and rank 0 then sends the
/// next.
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
    if (!frame) throw Error("push_pull", "no tensor arrives");
    frame->payload->read(0, {read.mutable_raw(), read.bytes()});
    frame.reset();
    if (setting.rank == 1 || sent < setting.steps) send();
  }
  return setting.bytes() / seconds_since(begin) / 1e9;
}

/// Announces batches to the shard and the workers.
class Batches final : public PortActor {
 public:
  using PortActor::PortActor;

 private:
  void advance() override {
    if (!is_open()) return;
    for (std::uint32_t worker = 0; worker < outputs(); ++worker)
      for (; next_ < end_step() && has_free(worker); ++next_) {
        const Tensor info(BatchInfo::info().shape, BatchInfo::info().dtype);
        BatchInfo{1, 1, 0, next_}.write(info);
        send_output(worker, info, next_);
      }
    if (next_ >= end_step()) end();
  }
  void on_run(const RunInfo& run) override { next_ = run.first_step; }

  std::int64_t next_ = 0;
};

/// Sends the same gradients for every batch, independent of the parameters.
class Pusher final : public PortActor {
 public:
  Pusher(caf::actor_config& config, const TensorInfo& gradients)
      : PortActor(config), gradients_(gradients.shape, gradients.dtype) {}

 private:
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor> outputs) override { outputs[0] = gradients_; }

  const Tensor gradients_;
};

/// A shard in the process of rank 0, and workers in that of rank 1 that compute nothing.
Plan shard_plan(const Setting& setting) {
  const TrainedParameter w{"w", {Shape{setting.elements}, DType::float32}, Initializer::zeros()};
  const BlockUpdate block_update{update_graph(Sgd{.lr = 1e-9}, 0, {w}), {"w"}, {{{"w", 0}, true}}};
  const ShardUpdate update(block_update.update, block_update.parameters);
  const Place server{0, {DeviceType::cpu, 0}};
  Plan plan;
  plan.add_parameter({{"w", 0}, w.info, server.device, w.initializer, true});
  ExternalPorts ports;
  ports.outputs.assign(static_cast<std::size_t>(setting.workers), BatchInfo::info());
  ports.rule = FiringRule::own;
  auto source = external<Batches>("batches", std::move(ports));
  source.place = server;
  const auto batches = plan.add(std::move(source));
  const auto rule = ConsistencyRule::asynchronous(setting.workers);
  const auto shard = add_block_shard(plan, "shard", server, {.rule = rule, .shared_steps = false}, block_update, 0);
  for (int worker = 0; worker < setting.workers; ++worker) plan.connect(batches, worker, shard, 2);
  for (int worker = 0; worker < setting.workers; ++worker) {
    auto pusher = external<Pusher>("worker@" + std::to_string(worker),
                                   {{BatchInfo::info(), update.parameter_block()}, {update.gradient_block()}},
                                   update.gradient_block());
    pusher.place = {1, {DeviceType::cpu, worker}};
    const auto id = plan.add(std::move(pusher));
    plan.connect(batches, worker, id);
    plan.connect(shard, worker, id);
    plan.connect(id, 0, shard);
  }
  return plan;
}

double over_shard(const Setting& setting, SpawnedPlan& plan, std::int64_t& step) {
  const auto begin = Clock::now();
  plan.start({.first_step = step, .max_steps = setting.steps});
  plan.wait();
  step += setting.steps;
  return setting.bytes() / seconds_since(begin) / 1e9;
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
  const Runtime runtime({.workers = 1, .cpu_devices = setting.workers});
  SpawnContext context;
  context.store = std::make_shared<ParameterStore>();
  auto plan = std::make_unique<SpawnedPlan>(PartSetup{runtime, context}, split(shard_plan(setting)), cluster);
  std::int64_t step = 0;
  auto figures = bench::alternate({{"shard", [&] { return over_shard(setting, *plan, step); }},
                                   {"link", [&] { return over_link(setting, reader, to_send, read); }}},
                                  setting.repetitions);
  plan.reset();
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
