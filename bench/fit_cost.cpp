// Measures the cost of a fit of one step and of a pause: the medians of fits of one step, of steps with a pause after
// each, and of steps of one long fit. Their differences are the costs.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "troupe/examples/models.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace {

using namespace troupe;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  std::string model = "mlp", data = kFashionMnistDirectory;
  std::int64_t batch = 32, repetitions = 300;
  int replicas = 1;
  CLI::App app("Cost of a fit of one step and of a pause");
  app.add_option("--model", model)->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--batch", batch)->check(CLI::PositiveNumber);
  app.add_option("--replicas", replicas)->check(CLI::Range(1, 64));
  app.add_option("--repetitions", repetitions)->check(CLI::PositiveNumber);
  app.add_option("--data", data);
  CLI11_PARSE(app, argc, argv);

  const Runtime runtime;
  std::vector<Device> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back({DeviceType::cpu, i});
  const Mirrored strategy(devices);
  const auto batches = fashion_mnist(Split::train, data).batch(batch);
  Trainer trainer(runtime, strategy, examples::model_named(model), Sgd{.lr = 0.05}, SoftmaxCrossEntropy{});
  trainer.fit(batches, {.max_steps = 1});

  std::vector<double> fits, pauses;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    const auto begin = Clock::now();
    trainer.fit(batches, {.max_steps = 1});
    fits.push_back(microseconds_since(begin));
  }
  auto last = Clock::now();
  trainer.fit(batches, {.max_steps = repetitions, .pause_every = 1, .on_pause = [&](const Metrics&) {
                          pauses.push_back(microseconds_since(last));
                          last = Clock::now();
                        }});
  const auto begin = Clock::now();
  trainer.fit(batches, {.max_steps = repetitions});
  const auto step = microseconds_since(begin) / static_cast<double>(repetitions);
  std::printf("%s batch %lld replicas %d: fit of one step %.0f us, step and pause %.0f us, step %.0f us\n",
              model.c_str(), static_cast<long long>(batch), replicas, median(fits), median(pauses), step);
}
