// A shared library that trains and predicts. It uses no run-time type information, as many plugins are built.

#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"

extern "C" double train_and_evaluate(const float* x, const float* y, std::int64_t rows) {
  using namespace troupe;
  const Shape shape{rows, 1};
  const auto count = static_cast<std::size_t>(rows);
  const auto data = Dataset::from_arrays({{"x", Tensor::from<float>(shape, std::span<const float>(x, count))},
                                          {"y", Tensor::from<float>(shape, std::span<const float>(y, count))}});
  const Runtime runtime;
  const OneDevice strategy;
  Trainer trainer{runtime, strategy, Sequential{Dense{1}}, Sgd{.lr = 0.1}, MeanSquaredError{}};
  trainer.fit(data.batch(8), {.epochs = 10});
  return trainer.evaluate(data).loss;
}
