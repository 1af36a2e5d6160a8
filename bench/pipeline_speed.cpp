// Rows per second of a chain of transforms on arrays: a shuffle of all rows, a map that normalizes the bytes of an
// image to float32, and batches. bench/peers/data_pipelines.py compares it with other libraries.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>

#include "troupe/actors/load/row_workers.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/ops/pipeline/pipeline.hpp"

using namespace troupe;

namespace {

struct Options {
  std::int64_t rows = 60'000, elements = 784, batch = 128, epochs = 3;
  int threads = 2;
};

Pipeline images(const Options& options) {
  Tensor image({options.rows, options.elements}, DType::uint8), label({options.rows}, DType::int32);
  for (std::int64_t i = 0; i < options.rows * options.elements; ++i)
    image.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 131);
  const auto normalize = [elements = options.elements](const RowView& in, RowWriter& out, RowRandom&) {
    const auto bytes = in.values<std::uint8_t>("image");
    const auto to = out.make<float>("image", {elements});
    for (std::size_t i = 0; i < bytes.size(); ++i) to[i] = static_cast<float>(bytes[i]) * (1.0F / 255.0F) - 0.5F;
  };
  return Pipeline::from_arrays({{"image", image}, {"label", label}})
      .shuffle()
      .map({{"image", DType::float32, {options.elements}}, {"label", DType::int32}}, normalize)
      .batch(options.batch);
}

/// Rows per second of one epoch.
double speed_of(const Pipeline& pipeline, std::int64_t epoch, RowWorkers& workers, std::int64_t rows) {
  const auto begin = std::chrono::steady_clock::now();
  auto reader = pipeline.read({1, epoch, &workers});
  Row batch;
  while (reader.next(batch)) continue;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(rows) / seconds.count();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Rows per second of a pipeline on arrays");
  app.add_option("--rows", options.rows)->check(CLI::PositiveNumber);
  app.add_option("--elements", options.elements)->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
  app.add_option("--epochs", options.epochs)->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    const Runtime runtime({.workers = options.threads});
    RowWorkers workers(runtime.system(), options.threads);
    const auto pipeline = images(options);
    double best = 0.0;
    for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch)
      best = std::max(best, speed_of(pipeline, epoch, workers, options.rows));
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::cout << "rows_per_second " << best << " mib " << static_cast<double>(used.ru_maxrss) / 1024.0 << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "pipeline_speed: " << error.what() << std::endl;
    return 1;
  }
}
