// Checks that the memory of a GPU does not grow from step to step, and that a training that does not fit leaves nothing
// behind.

#include <cstdio>
#include <fstream>

#include "troupe/bench/gpu/commands.hpp"
#include "troupe/bench/gpu/device_memory.hpp"
#include "troupe/bench/gpu/training.hpp"

namespace troupe::bench {

namespace {

constexpr double kMiB = 1 << 20;

/// The resident memory of this process in bytes.
std::int64_t host_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

struct GrowthFlags {
  TrainingFlags training;
  std::int64_t steps = 10'000;
};

/// Measures after some tenths of the steps, when all memory has been allocated, and again at the end. Throws Error if
/// memory has grown.
void check_growth(const GrowthFlags& flags) {
  // After a pause, buffers may form other pairs, which are captured anew. After this many pauses all pairs have
  // occurred.
  constexpr std::int64_t kWarmPauses = 3;
  const auto tenth = std::max<std::int64_t>(1, flags.steps / 10);
  TimedTraining training(flags.training, "one_device", tenth);
  std::int64_t pauses = 0, device = 0, host = 0, grown = 0;
  const auto look = [&](const Metrics&) {
    if (++pauses == kWarmPauses) device = device_bytes(), host = host_bytes();
    if (pauses > kWarmPauses) grown = std::max(grown, device_bytes() - device);
  };
  training.trainer().fit(training.data(), {.epochs = 1 << 30,
                                           .max_steps = flags.steps + kWarmPauses * tenth,
                                           .pause_every = tenth,
                                           .on_pause = look,
                                           .on_non_finite_loss = NonFiniteLoss::skip});
  std::printf("%s batch %lld, %lld steps: %.1f MiB of the GPU in use, then %.1f MiB more; on the host %.1f MiB more\n",
              flags.training.model.c_str(), static_cast<long long>(flags.training.batch),
              static_cast<long long>(flags.steps), static_cast<double>(device) / kMiB,
              static_cast<double>(grown) / kMiB, static_cast<double>(host_bytes() - host) / kMiB);
  if (grown > 0) throw Error("memory", "the memory in use has grown");
}

/// Runs a training that does not fit, which must end with an error, then one that fits.
void check_out_of_memory(TrainingFlags flags, std::int64_t too_many) {
  const auto before = device_bytes();
  std::string refusal;
  try {
    auto large = flags;
    large.batch = too_many;
    // The loader would provide no more rows than the data set has.
    large.images = "device";
    TimedTraining training(large, "one_device", 1);
    training.trainer().fit(training.data(), {.max_steps = 1});
  } catch (const Error& error) {
    refusal = error.what();
  }
  if (refusal.empty()) throw Error("memory", "a batch of " + std::to_string(too_many) + " rows fits");
  const auto kept = device_bytes() - before;
  TimedTraining training(flags, "one_device", 10);
  const auto fit = training.trainer().fit(training.data(), {.epochs = 1});
  std::printf("%s\n%.1f MiB are kept for later use; then a training of %lld steps with a loss of %.3f\n",
              refusal.c_str(), static_cast<double>(kept) / kMiB, static_cast<long long>(fit.steps),
              fit.epochs.back().training.loss);
}

}  // namespace

void add_memory_growth_command(CLI::App& app) {
  const auto flags = std::make_shared<GrowthFlags>();
  auto* command = app.add_subcommand("memory-growth", "Growth of the memory in use over a training");
  flags->training.declare(*command);
  command->add_option("--steps", flags->steps)->check(CLI::Range(1, 1 << 30));
  command->callback([flags] { check_growth(*flags); });
}

void add_out_of_memory_command(CLI::App& app) {
  struct OutOfMemoryFlags {
    TrainingFlags training;
    std::int64_t too_many = 4'000'000;
  };
  const auto flags = std::make_shared<OutOfMemoryFlags>();
  flags->training.model = "cnn";
  auto* command = app.add_subcommand("out-of-memory", "A batch that does not fit, then one that does");
  flags->training.declare(*command);
  command->add_option("--too-many", flags->too_many, "rows of the batch that does not fit")->check(CLI::PositiveNumber);
  command->callback([flags] { check_out_of_memory(flags->training, flags->too_many); });
}

}  // namespace troupe::bench
