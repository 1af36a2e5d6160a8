// Measures the latency of a prediction of one row through a trained mlp, and of the kernels alone: the same program
// without a Predictor. They alternate call by call.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "troupe/examples/models.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/predictor.hpp"

using namespace troupe;

namespace {

Dataset random_images(std::int64_t rows) {
  Tensor images(Shape{rows, 28, 28, 1}, DType::float32), labels(Shape{rows}, DType::int32);
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.mutable_data<float>()[i] = static_cast<float>(uniform_below(256, 1, 0, static_cast<std::uint64_t>(i))) / 255;
  for (std::int64_t i = 0; i < rows; ++i)
    labels.mutable_data<std::int32_t>()[i] =
        static_cast<std::int32_t>(uniform_below(10, 2, 0, static_cast<std::uint64_t>(i)));
  return Dataset::from_arrays({{"image", images}, {"label", labels}});
}

/// The model's program for one row, with the trainer's parameters and an input to which rows are written.
struct KernelsAlone {
  Program program;
  Tensor input;

  KernelsAlone(const Trainer& trainer, const std::vector<Field>& fields)
      : program(prediction_graph(trainer.spec(), fields), 1),
        input(fields[0].info.shape.with_rows(1), fields[0].info.dtype) {
    program.bind(fields[0].name, input);
    for (const auto& entry : trainer.parameters().entries())
      if (entry.trainable) program.bind(entry.name, trainer.parameters().get(entry.name));
  }
};

template <class Function>
double microseconds(Function function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  int calls = 20'000;
  CLI::App app{"Latency of predicting one row"};
  app.add_option("--calls", calls, "calls to measure of each")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  const Runtime runtime({.cpu_devices = 1});
  const OneDevice strategy;
  Trainer trainer{runtime, strategy, examples::mlp(), Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}};
  const auto data = random_images(256);
  trainer.fit(data.batch(64));

  Predictor predictor(trainer, data.fields());
  KernelsAlone alone(trainer, data.fields());
  const Predictor::Arrays row{{"image", data.take(1).array("image")}};
  std::copy_n(row[0].second.raw(), row[0].second.bytes(), alone.input.mutable_raw());
  std::vector<double> predicting, running;
  for (int call = -1000; call < calls; ++call) {
    const auto one = microseconds([&] { predictor.predict(row); });
    const auto other = microseconds([&] { alone.program.run(); });
    if (call < 0) continue;
    predicting.push_back(one);
    running.push_back(other);
  }
  for (const double share : {0.5, 0.99}) {
    const auto one = percentile(predicting, share), other = percentile(running, share);
    std::printf("p%.0f  predictor %.2f us  kernels alone %.2f us  ratio %.2f\n", 100 * share, one, other, one / other);
  }
}
