// A kernel that fails on a GPU ends the training with one error that names the op, later trainings there with another
// one, and the process can end by itself. Exits with 0 if it was so, 3 without a GPU.

#include <cstdio>
#include <string>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

constexpr float kPoison = 12345.0F;

std::vector<TensorInfo> like_input(const OpInputs& inputs) {
  return {inputs[0]};
}

std::vector<Value> pass_on(const OpGradient& g) {
  return {g.dys[0]};
}

const OpDef kFragile{.name = "fragile", .infer = like_input, .gradient = pass_on};

__global__ void copy_unless_poisoned(const float* x, float* y, std::int64_t n) {
  for (auto i = cuda::first_element(); i < n; i += cuda::element_stride()) {
    if (x[i] == kPoison) __trap();
    y[i] = x[i];
  }
}

std::unique_ptr<Kernel> make_fragile(const OpCall& call) {
  return cuda::cuda_kernel(call, [](const cuda::Launch& where, cuda::Inputs in, cuda::Outputs out) {
    cuda::launch(where, 1, cuda::kBlock, copy_unless_poisoned, cuda::floats(in[0]), cuda::mutable_floats(out[0]),
                 out[0].elements());
  });
}

Value fragile(Value x) {
  return x.builder().apply_one(kFragile, {x});
}

/// 64 rows of one number, of which one is the poison.
Dataset data() {
  std::vector<float> x(64, 1.0F);
  x[40] = kPoison;
  const auto column = Tensor::from<float>({64, 1}, x);
  return Dataset::from_arrays({{"x", column}, {"y", column}}).batch(8);
}

/// The error that a training with the op ends with; empty if there is none.
std::string error_of_training() {
  const Runtime runtime({.cpu_devices = 1});
  const OneDevice strategy(Device{DeviceType::cuda, 0});
  const Model model([](Value x) { return Dense{1}(fragile(x)); }, "x");
  try {
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 1e-9}, MeanSquaredError{}, {.seed = 1});
    trainer.fit(data(), {.epochs = 3});
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Whether the fault is told once, with the op, and whoever uses the GPU afterwards gets an error too.
bool is_told() {
  const auto first = error_of_training(), second = error_of_training();
  std::printf("%s\nthen: %s\n", first.c_str(), second.c_str());
  return count(first, "fragile") >= 1 && count(first, "(cudaError") == 1 && !second.empty();
}

}  // namespace

int main() {
  if (device_count(DeviceType::cuda) == 0) {
    std::printf("skipped: there is no GPU\n");
    return 77;
  }
  register_op(kFragile);
  register_kernel(kFragile, DeviceType::cuda, make_fragile);
  return is_told() ? 0 : 1;
}
