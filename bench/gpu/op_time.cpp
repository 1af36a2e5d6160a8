// What an op costs the host where every op is a segment of its own and nothing is captured: a chain of small ones.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/run/trace.hpp"
#include "troupe/bench/gpu/commands.hpp"
#include "troupe/bench/gpu/training.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/ops/elementwise.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/loss.hpp"
#include "troupe/ops/softmax.hpp"

namespace troupe::bench {

namespace {

struct OpTimeFlags {
  std::string device = "cuda:0", grain = "per-op";
  int ops = 200;
  std::int64_t steps = 400;
};

/// Two ops in turn that no pass merges.
Model chain(int ops) {
  return Model([ops](Value x) {
    const auto bias = x.builder().constant(Tensor::from<float>({8}, std::vector<float>(8, 1e-3F)));
    for (int i = 0; i < ops; ++i) x = i % 2 == 0 ? x + bias : softmax(x);
    return Dense{2}(x);
  });
}

Dataset small_rows(std::int64_t steps) {
  const Tensor x(Shape{16 * steps, 8}, DType::float32), y(Shape{16 * steps, 2}, DType::float32);
  return Dataset::from_arrays({{"x", x}, {"y", y}}).batch(16);
}

std::int64_t ops_on_device(const Plan& plan) {
  return std::ranges::count_if(plan.actors, [](const PlanActor& actor) { return actor.role == ActorRole::op; });
}

class Chain {
 public:
  explicit Chain(const OpTimeFlags& flags)
      : flags_(flags), strategy_(strategy_on(flags.device, "one_device")), data_(small_rows(flags.steps)) {}

  std::int64_t ops() const { return ops_on_device(make_trainer(nullptr)->training_plan(data_)); }

  /// Of the time of a step, what each op takes.
  double wall_microseconds() const {
    const auto trainer = make_trainer(nullptr);
    std::vector<double> seconds;
    auto begin = std::chrono::steady_clock::now();
    trainer->fit(data_, {.epochs = 4, .on_epoch = [&](const EpochMetrics&) {
                           const auto now = std::chrono::steady_clock::now();
                           seconds.push_back(std::chrono::duration<double>(now - begin).count());
                           begin = now;
                         }});
    seconds.erase(seconds.begin());
    return 1e6 * median(seconds) / static_cast<double>(flags_.steps * ops());
  }

  /// From a trace: how long the firing of an op lasts on the host.
  double firing_microseconds() const {
    const auto trace = std::make_shared<Trace>();
    make_trainer(trace)->fit(data_, {.epochs = 2});
    std::vector<double> firings;
    for (const auto& event : trace->events())
      if (event.device == "host of " + flags_.device && event.step >= flags_.steps)
        firings.push_back(std::chrono::duration<double, std::micro>(event.end - event.begin).count());
    return median(firings);
  }

 private:
  std::unique_ptr<Trainer> make_trainer(std::shared_ptr<Trace> trace) const {
    TrainerOptions options{.seed = 1, .grain = parse_grain(flags_.grain), .trace = std::move(trace)};
    return std::make_unique<Trainer>(runtime_, *strategy_, chain(flags_.ops), Sgd{.lr = 1e-3}, MeanSquaredError{},
                                     options);
  }

  OpTimeFlags flags_;
  Runtime runtime_{RuntimeOptions{.cpu_devices = 1}};
  std::unique_ptr<Strategy> strategy_;
  Dataset data_;
};

void run(const OpTimeFlags& flags) {
  setenv("TROUPE_CAPTURE", "0", 1);
  const Chain measured(flags);
  std::printf("chain of %lld ops, %s, uncaptured: %.2f us an op, of which its firing is %.2f us on the host\n",
              static_cast<long long>(measured.ops()), flags.grain.c_str(), measured.wall_microseconds(),
              measured.firing_microseconds());
}

}  // namespace

void add_op_time_command(CLI::App& app) {
  const auto flags = std::make_shared<OpTimeFlags>();
  auto* command = app.add_subcommand("op-time", "Time of the host for an op that is not captured");
  command->add_option("--device", flags->device)->capture_default_str();
  command->add_option("--grain", flags->grain)->check(CLI::IsMember({"per-op", "chains", "fused"}));
  command->add_option("--ops", flags->ops, "in the chain")->check(CLI::Range(1, 10'000));
  command->add_option("--steps", flags->steps)->check(CLI::Range(1, 1 << 20));
  command->callback([flags] { run(*flags); });
}

}  // namespace troupe::bench
