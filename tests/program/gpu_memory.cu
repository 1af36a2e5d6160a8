// Memory of a GPU: a training that finds no room ends with an error that names what wanted how many bytes, leaves
// nothing behind, and then one that fits goes well; 10,000 steps take no more memory than the first 3,000. Exits with 0
// if it was so, 3 without a GPU.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/cuda/device/device_state.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

const Device kGpu{DeviceType::cuda, 0};
constexpr std::int64_t kRows = 4096, kColumns = 4;
// A sanitizer makes a step many times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPauseSteps = 40;
#else
constexpr int kPauseSteps = 1'000;
#endif

struct DeviceBytes {
  std::size_t free = 0, total = 0;
};

DeviceBytes device_bytes() {
  const cuda::CurrentDevice current(kGpu.index);
  DeviceBytes bytes;
  cuda::check(cudaMemGetInfo(&bytes.free, &bytes.total), "asking for the memory of the GPU");
  return bytes;
}

/// Trains a hidden layer of so many units on batches of so many rows.
void train(std::int64_t units, std::int64_t batch, const FitOptions& options) {
  const Runtime runtime({.cpu_devices = 1});
  const OneDevice strategy(kGpu);
  const Model model([units](Value x) { return Sequential{Dense{units, relu}, Dense{1}}(x); }, "x");
  const Tensor x({kRows, kColumns}, DType::float32), y({kRows, 1}, DType::float32);
  Trainer trainer(runtime, strategy, model, Adam{.lr = 0.01}, MeanSquaredError{}, {.seed = 1});
  trainer.fit(Dataset::from_arrays({{"x", x}, {"y", y}}).batch(batch), options);
}

/// The error that training ends with; empty if there is none.
std::string error_of_training(std::int64_t units) {
  try {
    train(units, kRows, {.epochs = 2});
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

int failures = 0;

void expect(bool holds, const char* what, const std::string& seen) {
  if (holds) return;
  ++failures;
  std::printf("not so: %s: '%s'\n", what, seen.c_str());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The bytes that an error says were requested; 0 if it says none.
std::int64_t requested_bytes(const std::string& error) {
  const std::string before = "out of memory: ";
  const auto at = error.find(before);
  if (at == std::string::npos || !contains(error, " bytes requested on cuda:0")) return 0;
  return std::strtoll(error.c_str() + at + before.size(), nullptr, 10);
}

/// Inner values of a segment are one block, which is larger than what is too large in it.
void expect_no_room(const char* what, std::int64_t units, const std::string& name, std::int64_t least_bytes) {
  const auto& memory = cuda::device_state(kGpu).memory();
  const auto before = memory.bytes_in_use();
  const auto error = error_of_training(units);
  std::printf("%s: %s\n", what, error.c_str());
  expect(contains(error, name), "the error says what found no room", error);
  expect(requested_bytes(error) >= least_bytes, "the error says how many bytes", error);
  expect(memory.bytes_in_use() == before, "nothing is left behind", std::to_string(memory.bytes_in_use() - before));
  const auto error_afterwards = error_of_training(8);
  expect(error_afterwards.empty(), "then a training that fits goes well", error_afterwards);
}

void expect_no_growth() {
  std::vector<std::size_t> free;
  const auto look = [&](const Metrics&) { free.push_back(device_bytes().free); };
  train(8, 8, {.epochs = 1 << 30, .max_steps = 13 * kPauseSteps, .pause_every = kPauseSteps, .on_pause = look});
  expect(free.size() == 13, "there are thirteen pauses", std::to_string(free.size()));
  // After a pause buffers may meet in other pairs, which are captured anew: by the third all pairs have met.
  const auto warm = free.at(2);
  for (auto pause = std::size_t{3}; pause < free.size(); ++pause)
    expect(free[pause] >= warm, "the memory does not grow", std::to_string(warm - free[pause]));
  std::printf("%zu bytes free after %d steps and %zu after %d more\n", warm, 3 * kPauseSteps, free.back(),
              10 * kPauseSteps);
}

}  // namespace

int main() {
  if (device_count(DeviceType::cuda) == 0) {
    std::printf("skipped: there is no GPU\n");
    return 77;
  }
  const auto all = static_cast<std::int64_t>(device_bytes().total);
  const auto for_weights = all / (kColumns * 4) + 1, for_results = all / (kRows * 4) + 1;
  expect_no_room("parameters", for_weights, "parameter 'dense1.weights'", for_weights * kColumns * 4);
  expect_no_room("results of ops", for_results, "dense1", for_results * kRows * 4);
  expect_no_growth();
  return failures == 0 ? 0 : 1;
}
