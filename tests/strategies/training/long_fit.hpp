#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <utility>
#include <vector>

#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

namespace troupe::testing {

inline constexpr std::int64_t kColumns = 512;

/// A model whose output is x (a - b). Every row x is 1, and each update of Sgd{.lr = 1} adds the same number to all
/// elements of `a` and `b`.
inline Outputs two_parameters(const Inputs& in) {
  auto& builder = in.builder();
  const auto a = builder.parameter("a", {1, kColumns}, Initializer::zeros());
  const auto b = builder.parameter("b", {1, kColumns}, Initializer::zeros());
  return {{"difference", matmul(in["x"], a) - matmul(in["x"], b)}, {"sum", matmul(in["x"], a) + matmul(in["x"], b)}};
}

/// The mean of -sum: the gradient of every element is -1.
inline Value falling_loss(const Outputs& outputs, const Inputs&) {
  return reshape(reduce_sum(outputs["sum"], std::vector<std::int64_t>{1}), {kBatch}) * -1.0F;
}

inline Tensor filled(float value) {
  return Tensor::from<float>({1, kColumns}, std::vector<float>(kColumns, value));
}

inline Dataset ones(std::int64_t rows) {
  return Dataset::from_arrays({{"x", Tensor::from<float>({rows, 1}, std::vector<float>(rows, 1.0F))}});
}

inline Trainer trainer_of_two(const Runtime& runtime, const Strategy& strategy, Optimizer optimizer = Sgd{.lr = 1.0}) {
  return Trainer(runtime, strategy, two_parameters, std::move(optimizer), falling_loss);
}

/// A fit on another thread that goes on until stop().
class LongFit {
 public:
  LongFit(Trainer& trainer, const Dataset& data, FitOptions options = {}) {
    options.epochs = 1'000'000;
    options.stop_requested = [this] { return stop_.load(); };
    options.on_step = [this, next = options.on_step](const StepMetrics& step) {
      if (next) next(step);
      if (!std::exchange(begun_, true)) began_.set_value();
    };
    fit_ = std::async(std::launch::async, [&trainer, data, options] { return trainer.fit(data, options); });
    began_.get_future().wait();
  }
  ~LongFit() {
    if (fit_.valid()) stop();
  }
  FitResult stop() {
    stop_ = true;
    return fit_.get();
  }

 private:
  std::atomic<bool> stop_{false};
  bool begun_ = false;
  std::promise<void> began_;
  std::future<FitResult> fit_;
};

}  // namespace troupe::testing
