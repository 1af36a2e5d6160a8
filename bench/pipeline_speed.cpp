// Rows per second of a chain of transforms on arrays: a shuffle of all rows, a map that normalizes the bytes of an
// image to float32, and batches. bench/peers/data_pipelines.py compares it with other libraries.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>

#include "troupe/actors/load/row_workers.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/ops/pipeline/csv_rows.hpp"
#include "troupe/ops/pipeline/tf_examples.hpp"

using namespace troupe;

namespace {

struct Options {
  std::string chain = "arrays", file;
  std::int64_t rows = 60'000, elements = 784, batch = 128, epochs = 3;
  int threads = 2;
};

/// Rows with the bytes of an image as float32.
Pipeline normalized(const Pipeline& images, std::int64_t elements) {
  const auto normalize = [elements](const RowView& in, RowWriter& out, RowRandom&) {
    const auto bytes = in.values<std::uint8_t>("image");
    const auto to = out.make<float>("image", {elements});
    for (std::size_t i = 0; i < bytes.size(); ++i) to[i] = static_cast<float>(bytes[i]) * (1.0F / 255.0F) - 0.5F;
  };
  return images.map({{"image", DType::float32, {elements}}, images.fields()[1]}, normalize);
}

Pipeline rows_of_chain(const Options& options) {
  if (options.chain == "csv") {
    std::vector<CsvField> fields{
        {"x", {}}, {"n", {"n"}, DType::int32}, {"kind", {"kind"}, DType::int32, {"a", "b", "c"}}};
    for (int i = 0; i < 8; ++i) fields[0].columns.push_back("x" + std::to_string(i));
    return csv_rows({options.file}, fields);
  }
  if (options.chain == "tfrecord")
    return normalized(
        tf_examples({options.file}, {{"image", DType::uint8, {options.elements}}, {"label", DType::int64}}),
        options.elements);
  Tensor image({options.rows, options.elements}, DType::uint8), label({options.rows}, DType::int32);
  for (std::int64_t i = 0; i < options.rows * options.elements; ++i)
    image.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 131);
  return normalized(Pipeline::from_arrays({{"image", image}, {"label", label}}).shuffle(), options.elements);
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
  CLI::App app("Rows per second of a pipeline");
  app.add_option("--chain", options.chain)->check(CLI::IsMember({"arrays", "csv", "tfrecord"}));
  app.add_option("--file", options.file, "the file of the chain csv or tfrecord");
  app.add_option("--rows", options.rows, "the rows of the chain arrays")->check(CLI::PositiveNumber);
  app.add_option("--elements", options.elements)->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
  app.add_option("--epochs", options.epochs)->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    const Runtime runtime({.workers = options.threads});
    RowWorkers workers(runtime.system(), options.threads);
    const auto rows = rows_of_chain(options);
    const auto pipeline = rows.batch(options.batch);
    double best = 0.0;
    for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch)
      best = std::max(best, speed_of(pipeline, epoch, workers, rows.size()));
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::cout << "rows_per_second " << best << " mib " << static_cast<double>(used.ru_maxrss) / 1024.0 << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "pipeline_speed: " << error.what() << std::endl;
    return 1;
  }
}
