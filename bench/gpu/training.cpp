#include "troupe/bench/gpu/training.hpp"

#include <chrono>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/ops/gather.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLearningRate = 0.02;

/// The models of examples/models.hpp.
Sequential layers(const std::string& model) {
  if (model == "mlp") return {Flatten{}, Dense{256, relu}, Dense{128, relu}, Dense{10}};
  return {Conv2d{32, 3, relu}, MaxPool{}, Conv2d{64, 3, relu}, MaxPool{}, Flatten{}, Dense{128, relu}, Dense{10}};
}

Optimizer optimizer(const std::string& model) {
  return Sgd{.lr = kLearningRate, .momentum = model == "mlp" ? 0.0 : 0.9};
}

/// Whole batches of numbers of images, with their labels: a few bytes to load.
Dataset numbers_of(const Dataset& images, std::int64_t rows) {
  const Tensor numbers(Shape{rows}, DType::int32), labels(Shape{rows}, DType::int32);
  const auto label = images.array("labels");
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto image = static_cast<std::size_t>(i % images.rows());
    numbers.mutable_data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(image);
    labels.mutable_data<std::int32_t>()[static_cast<std::size_t>(i)] = label.data<std::int32_t>()[image];
  }
  return Dataset::from_arrays({{"image", numbers}, {"labels", labels}});
}

/// So many images that their pixels do not fit into the caches of a GPU.
constexpr std::int64_t kImagesOnDevice = 20'000;

Dataset make_data(const TrainingFlags& flags, std::int64_t epoch_steps) {
  auto images = fashion_mnist(Split::train, flags.data);
  if (flags.images == "loader") return images.shuffle(images.rows()).batch(flags.batch);
  images = images.take(kImagesOnDevice);
  return numbers_of(images, flags.batch * epoch_steps).batch(flags.batch);
}

Model make_model(const TrainingFlags& flags) {
  const auto model = layers(flags.model);
  if (flags.images == "loader") return model;
  const auto table = fashion_mnist(Split::train, flags.data).take(kImagesOnDevice).array("features");
  return Model([model, table](Value number) { return model(gather(number.builder().constant(table), number)); });
}

}  // namespace

TrainingFlags::TrainingFlags() : data(kFashionMnistDirectory) {}

void TrainingFlags::declare(CLI::App& app) {
  app.add_option("--device", device)->capture_default_str();
  app.add_option("--model", model)->check(CLI::IsMember({"mlp", "cnn"}))->capture_default_str();
  app.add_option("--batch", batch)->check(CLI::Range(1, 1 << 24))->capture_default_str();
  app.add_option("--precision", precision, "of products and convolutions")
      ->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}))
      ->capture_default_str();
  app.add_option("--grain", grain)->check(CLI::IsMember({"per-op", "chains", "fused"}))->capture_default_str();
  app.add_option("--images", images, "where batches come from: images on the device, or the loader of the host")
      ->check(CLI::IsMember({"device", "loader"}))
      ->capture_default_str();
  app.add_option("--data", data, "directory of Fashion-MNIST")->capture_default_str();
}

std::unique_ptr<Strategy> strategy_on(const std::string& device, const std::string& name) {
  const auto places = parse_devices(device);
  if (places.size() != 1) throw Error("gpu_bench", "--device: one device is needed, not '" + device + "'");
  if (name == "one_device") return std::make_unique<OneDevice>(places.front());
  if (name == "mirrored") return std::make_unique<Mirrored>(places);
  throw Error("gpu_bench", "there is no strategy '" + name + "'");
}

TimedTraining::TimedTraining(const TrainingFlags& flags, const std::string& strategy, std::int64_t epoch_steps,
                             std::shared_ptr<Trace> trace)
    : runtime_({.cpu_devices = 1}),
      strategy_(strategy_on(flags.device, strategy)),
      data_(make_data(flags, epoch_steps)) {
  set_matmul_precision(parse_precision(flags.precision));
  TrainerOptions options{.seed = 1, .grain = parse_grain(flags.grain), .trace = std::move(trace)};
  trainer_ = std::make_unique<Trainer>(runtime_, *strategy_, make_model(flags), optimizer(flags.model),
                                       SoftmaxCrossEntropy{}, options);
}

std::vector<double> TimedTraining::step_seconds(std::int64_t steps, int intervals) {
  std::vector<double> seconds;
  bool warm = false;
  auto begin = Clock::now();
  const auto note = [&](const Metrics& interval) {
    const auto now = Clock::now();
    const auto taken = std::chrono::duration<double>(now - begin).count();
    if (warm) seconds.push_back(taken / static_cast<double>(interval.steps));
    warm = true;
    begin = Clock::now();
  };
  trainer_->fit(data_, {.epochs = 1 << 30,
                        .max_steps = steps * (1 + static_cast<std::int64_t>(intervals)),
                        .pause_every = steps,
                        .on_pause = note,
                        .on_non_finite_loss = NonFiniteLoss::skip});
  return seconds;
}

}  // namespace troupe::bench
