// Measures the cost of an op on the host if every op is its own segment and nothing is captured, with a chain of small
// ops.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/run_ahead.hpp"
#include "troupe/bench/gpu/commands.hpp"
#include "troupe/bench/gpu/training.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/loss.hpp"

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct OpTimeFlags {
  std::string device = "cuda:0", grain = "per-op";
  int ops = 200;
  std::int64_t steps = 400;
};

/// The times at which the host launched the ops `stamp`, since the vector was last cleared. Used by the one thread that
/// launches.
std::vector<Clock::time_point>& stamps() {
  static std::vector<Clock::time_point> all;
  return all;
}

std::vector<TensorInfo> like_input(const OpInputs& inputs) {
  return {inputs[0]};
}

const OpDef kStamp{.name = "stamp", .infer = like_input};

/// Copies its input and notes the time at which the host launches the copy.
class StampKernel final : public Kernel {
 public:
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    stamps().push_back(Clock::now());
    copy(context.stream, inputs[0], outputs[0]);
  }
};

void register_stamp(DeviceType type) {
  register_op(kStamp);
  register_kernel(kStamp, type,
                  [](const OpCall&) -> std::unique_ptr<Kernel> { return std::make_unique<StampKernel>(); });
}

Value stamp(Value x) {
  return x.builder().apply_one(kStamp, {x});
}

/// A chain of two alternating ops that no pass merges, between two stamps.
Model chain(int ops) {
  return Model([ops](Value x) {
    const auto bias = x.builder().constant(Tensor::from<float>({8}, std::vector<float>(8, 1e-3F)));
    x = stamp(x);
    for (int i = 0; i < ops; ++i) x = i % 2 == 0 ? x + bias : softmax(x);
    return Dense{2}(stamp(x));
  });
}

Dataset small_rows(std::int64_t steps) {
  const Tensor x(Shape{16 * steps, 8}, DType::float32), y(Shape{16 * steps, 2}, DType::float32);
  return Dataset::from_arrays({{"x", x}, {"y", y}}).batch(16);
}

std::int64_t ops_on_device(const Plan& plan) {
  return std::ranges::count_if(plan.actors, [](const PlanActor& actor) { return actor.role == ActorRole::op; });
}

/// The training of a chain of small ops between two stamps.
class Chain {
 public:
  explicit Chain(const OpTimeFlags& flags)
      : flags_(flags), strategy_(strategy_on(flags.device, "one_device")), data_(small_rows(flags.steps)) {}

  std::int64_t ops() const { return ops_on_device(make_trainer()->training_plan(data_)); }

  /// The time of each op in a step: on the device, or on the host if that is slower.
  double wall_microseconds() const {
    const auto trainer = make_trainer();
    std::vector<double> seconds;
    auto begin = Clock::now();
    trainer->fit(data_, {.epochs = 4, .on_epoch = [&](const EpochMetrics&) {
                           const auto now = Clock::now();
                           seconds.push_back(std::chrono::duration<double>(now - begin).count());
                           begin = now;
                         }});
    seconds.erase(seconds.begin());
    return 1e6 * median(seconds) / static_cast<double>(flags_.steps * ops());
  }

  /// The time of each op of the chain on the host, with everything that happens between two launches. The device is
  /// idle at first, and there are as many steps as the host may run ahead, so the host waits for nothing. Other work of
  /// the host in that time is counted, too.
  double host_microseconds() const {
    constexpr int kWarm = 2, kIntervals = 50;
    const auto trainer = make_trainer();
    std::vector<double> of_op;
    stamps().clear();
    const auto note = [&](const Metrics&) {
      const std::chrono::duration<double, std::micro> taken = stamps().back() - stamps().front();
      of_op.push_back(taken.count() / (kRunAhead * (flags_.ops + 2)));
      stamps().clear();
    };
    trainer->fit(
        data_,
        {.epochs = 1 << 30, .max_steps = kRunAhead * (kWarm + kIntervals), .pause_every = kRunAhead, .on_pause = note});
    of_op.erase(of_op.begin(), of_op.begin() + kWarm);
    return median(of_op);
  }

 private:
  std::unique_ptr<Trainer> make_trainer() const {
    const TrainerOptions options{.seed = 1, .grain = parse_grain(flags_.grain)};
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
  register_stamp(parse_devices(flags.device).front().type);
  const Chain measured(flags);
  std::printf("chain of %lld ops, %s, uncaptured: %.2f us an op on the host, %.2f us of a whole training\n",
              static_cast<long long>(measured.ops()), flags.grain.c_str(), measured.host_microseconds(),
              measured.wall_microseconds());
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
