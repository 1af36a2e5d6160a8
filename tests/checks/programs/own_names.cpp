// A program that uses namespace troupe has names of its own for common things.

#include <cstdio>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

constexpr int kPad = 2, kRows = 3;

int split(int number) {
  return number / kPad;
}

struct Options {
  int batch = kRows;
};

int main() {
  const Options options;
  const Sequential model{Dense{options.batch, relu}, Dense{1}};
  const Runtime runtime({.workers = 1});
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, MeanSquaredError{.target = "y"});
  const auto data = Dataset::from_arrays({{"x", Tensor::from<float>({kRows, 1}, {1, 2, 3})},
                                          {"y", Tensor::from<float>({kRows, 1}, {2, 4, 6})}})
                        .batch(split(2 * options.batch));
  const auto steps = trainer.fit(data).steps;
  std::printf("%lld step\n", static_cast<long long>(steps));
  return steps == 1 ? 0 : 1;
}
