// Measures, from a trace, the fraction of a training step in which a device works.

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "troupe/actors/system/trace.hpp"
#include "troupe/bench/gpu/commands.hpp"
#include "troupe/bench/gpu/training.hpp"
#include "troupe/bench/repetitions.hpp"

namespace troupe::bench {

namespace {

using Clock = Trace::Clock;

/// The first steps of an epoch wait for their images.
constexpr std::int64_t kFirstSteps = 2;

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// A piece of work of a device, and the time at which the host had launched all of it.
struct Span {
  Clock::time_point begin, end, launched;
};

/// The fraction of the time from the first to the last of these spans that they cover. A trace may show that work began
/// while the host was still launching it; the device had to wait for the rest of the launch.
double share_covered(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  Clock::duration covered{};
  auto end = spans.front().begin;
  for (const auto& span : spans) {
    const auto begin = std::max({span.begin, span.launched, end});
    covered += std::max(Clock::duration::zero(), span.end - begin);
    end = std::max(end, span.end);
  }
  return seconds(covered) / seconds(end - spans.front().begin);
}

/// The work of the device in the steps of each epoch except the first, which makes kernels and captures them.
std::map<std::int64_t, std::vector<Span>> work_by_epoch(const Trace& trace, const std::string& device,
                                                        std::int64_t epoch_steps) {
  const auto events = trace.events();
  std::map<std::pair<std::string, std::int64_t>, Clock::time_point> launched;
  for (const auto& event : events)
    if (event.device == "host of " + device) launched[{event.task, event.step}] = event.end;
  std::map<std::int64_t, std::vector<Span>> work;
  for (const auto& event : events)
    if (event.device == device && event.step >= epoch_steps && event.step % epoch_steps >= kFirstSteps)
      work[event.step / epoch_steps].push_back({event.begin, event.end, launched[{event.task, event.step}]});
  return work;
}

struct BusyFlags {
  TrainingFlags training;
  /// The last step of the first eight epochs, which has fewer rows, is launched op by op, then captured.
  std::int64_t epochs = 24;
  std::string trace;
};

void run(const BusyFlags& flags) {
  const auto trace = std::make_shared<Trace>();
  TimedTraining training(flags.training, "one_device", 64, trace);
  training.trainer().fit(training.data(), {.epochs = flags.epochs});
  if (!flags.trace.empty()) trace->write(flags.trace);
  std::vector<double> shares;
  for (const auto& [epoch, spans] : work_by_epoch(*trace, flags.training.device, training.data().batches()))
    shares.push_back(share_covered(spans));
  if (shares.empty()) throw Error("busy", "the trace has no work of " + flags.training.device);
  std::printf("%s batch %lld, images of %s: %s busy %.1f %% of a step (median of %zu epochs)\n",
              flags.training.model.c_str(), static_cast<long long>(flags.training.batch), flags.training.images.c_str(),
              flags.training.device.c_str(), 100.0 * median(shares), shares.size());
}

}  // namespace

void add_busy_command(CLI::App& app) {
  const auto flags = std::make_shared<BusyFlags>();
  flags->training.images = "loader";
  flags->training.batch = 4096;
  auto* command = app.add_subcommand("busy", "Share of a step in which a device works");
  flags->training.declare(*command);
  command->add_option("--epochs", flags->epochs)->check(CLI::Range(2, 1000));
  command->add_option("--trace", flags->trace, "write the trace there, for chrome://tracing");
  command->callback([flags] { run(*flags); });
}

}  // namespace troupe::bench
