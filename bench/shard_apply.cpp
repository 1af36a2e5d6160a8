// Measures a shard's update beside moving the memory that it needs: it reads parameters and gradients and writes
// parameters. The reference moves as much on the same core: y += a x over arrays of that size. The two alternate.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "troupe/actors/shard/shard_update.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/strategies/step/split_training.hpp"

using namespace troupe;

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void add_scaled(float* __restrict y, const float* __restrict x, float a, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

void run(std::int64_t elements, int parameters, int repetitions) {
  std::vector<TrainedParameter> described;
  std::vector<std::string> names;
  for (int i = 0; i < parameters; ++i) {
    names.push_back("p" + std::to_string(i));
    described.push_back({names.back(), {Shape{elements / parameters}, DType::float32}, {}});
  }
  ShardUpdate update(update_graph(Sgd{.lr = 1e-6}, 0, described), names);
  std::vector<Tensor> tensors;
  for (const auto& stored : update.stored()) tensors.push_back(Tensor(stored.info.shape, stored.info.dtype));
  update.bind(tensors);
  const Tensor gradients(update.gradient_block().shape, DType::float32), x(Shape{elements}, DType::float32),
      y(Shape{elements}, DType::float32);
  for (const auto& tensor : {gradients, x, y}) std::ranges::fill(tensor.mutable_data<float>(), 0.0F);
  for (const auto& tensor : tensors) std::ranges::fill(tensor.mutable_data<float>(), 0.0F);
  auto figures =
      bench::alternate({{"update", [&] { return seconds_of([&] { update.apply(gradients, 0, 1); }); }},
                        {"memory",
                         [&] {
                           return seconds_of([&] {
                             add_scaled(y.mutable_data<float>().data(), x.data<float>().data(), 1e-6F, elements);
                           });
                         }}},
                       repetitions);
  const auto bytes = 3.0 * sizeof(float) * static_cast<double>(elements);
  std::printf("%d parameters of %.1f MB: update %.2f GB/s, memory alone %.2f GB/s, update / memory %.3f\n", parameters,
              4e-6 * static_cast<double>(elements / parameters), 1e-9 * bytes / bench::median(figures["update"]),
              1e-9 * bytes / bench::median(figures["memory"]),
              bench::median_ratio(figures["memory"], figures["update"]));
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t elements = std::int64_t{32} << 20;
  int repetitions = 11;
  CLI::App app("The speed of a shard's update.", "shard_apply");
  app.add_option("--elements", elements, "of all parameters")->check(CLI::Range(1 << 10, 1 << 30));
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  pin_this_thread(0);
  for (const int parameters : {1, 16, 256}) run(elements, parameters, repetitions);
  return 0;
}
