#include "troupe/bench/gpu/training_case.hpp"

#include <algorithm>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/ops/library/gather.hpp"

namespace troupe::bench {

namespace {

constexpr std::uint64_t kSeed = 1;
/// The number of images whose pixels do not fit into the caches of a GPU.
constexpr std::int64_t kFashionImagesOnDevice = 20'000;

Tensor random_integers(const Shape& shape, std::int64_t bound, std::uint64_t stream) {
  const Tensor tensor(shape, DType::int32);
  const auto elements = tensor.mutable_data<std::int32_t>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<std::int32_t>(uniform_below(static_cast<std::uint64_t>(bound), kSeed, stream, i));
  return tensor;
}

Tensor random_pixels(const Shape& shape) {
  const Tensor tensor(shape, DType::float32);
  const auto elements = tensor.mutable_data<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = uniform(kSeed, 2, i);
  return tensor;
}

/// Images and labels in memory.
struct Images {
  Tensor pixels, labels;
};

/// A data set of whole batches of image numbers with their labels, which is few bytes to load.
Dataset numbers_of(const Images& images, std::int64_t rows) {
  const Tensor numbers(Shape{rows}, DType::int32), labels(Shape{rows}, DType::int32);
  const auto label = images.labels.data<std::int32_t>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    const auto image = i % label.size();
    numbers.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(image);
    labels.mutable_data<std::int32_t>()[i] = label[image];
  }
  return Dataset::from_arrays({{"image", numbers}, {"labels", labels}});
}

/// The model applied to a table of images, from which the step gathers its batch.
Model behind_table(const Sequential& model, const Tensor& pixels) {
  return Model([model, pixels](Value number) { return model(gather(number.builder().constant(pixels), number)); });
}

/// The models of examples/models.hpp.
Sequential small_model(const std::string& name) {
  if (name == "mlp") return {Flatten{}, Dense{256, relu}, Dense{128, relu}, Dense{10}};
  return {Conv2d{32, 3, relu}, MaxPool{}, Conv2d{64, 3, relu}, MaxPool{}, Flatten{}, Dense{128, relu}, Dense{10}};
}

TrainingCase fashion_case(const TrainingFlags& flags, std::int64_t epoch_steps) {
  const Sgd optimizer{.lr = 0.02, .momentum = flags.model == "mlp" ? 0.0 : 0.9};
  const auto model = small_model(flags.model);
  auto images = fashion_mnist(Split::train, flags.data);
  if (flags.images == "loader")
    return {{model, SoftmaxCrossEntropy{}, optimizer}, images.shuffle(images.rows()).batch(flags.batch)};
  images = images.take(kFashionImagesOnDevice);
  const Images on_device{images.array("features"), images.array("labels")};
  return {{behind_table(model, on_device.pixels), SoftmaxCrossEntropy{}, optimizer},
          numbers_of(on_device, flags.batch * epoch_steps).batch(flags.batch)};
}

TrainingCase resnet50_case(const TrainingFlags& flags, std::int64_t epoch_steps) {
  const auto sizes = flags.sizes.or_else(kResNet50Sizes);
  const Images images{random_pixels({flags.batch, sizes.length, sizes.length, 3}),
                      random_integers({flags.batch}, sizes.classes, 3)};
  const Sgd optimizer{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4};
  const auto data = flags.images == "device"
                        ? numbers_of(images, flags.batch * epoch_steps)
                        : Dataset::from_arrays({{"pixels", images.pixels}, {"labels", images.labels}});
  const auto model = resnet50(sizes);
  const auto whole = flags.images == "device" ? behind_table(model, images.pixels) : Model(model);
  return {{whole, SoftmaxCrossEntropy{}, optimizer, std::vector<Metric>{}}, data.batch(flags.batch)};
}

TrainingCase gpt2_case(const TrainingFlags& flags, std::int64_t epoch_steps) {
  const auto sizes = flags.sizes.or_else(kGpt2Sizes);
  const Shape tokens{flags.batch * epoch_steps, sizes.length};
  const auto data = Dataset::from_arrays(
      {{"tokens", random_integers(tokens, sizes.classes, 4)}, {"next", random_integers(tokens, sizes.classes, 5)}});
  return {{gpt2(sizes), SoftmaxCrossEntropy{}, AdamW{.lr = 3e-4}, std::vector<Metric>{}}, data.batch(flags.batch)};
}

}  // namespace

TrainingFlags::TrainingFlags() : data(kFashionMnistDirectory) {}

void TrainingFlags::declare(CLI::App& app) {
  app.add_option("--device", device)->capture_default_str();
  app.add_option("--model", model)->check(CLI::IsMember({"mlp", "cnn", "gpt2", "resnet50"}))->capture_default_str();
  app.add_option("--batch", batch)->check(CLI::Range(1, 1 << 24))->capture_default_str();
  app.add_option("--precision", precision, "of products and convolutions")
      ->check(CLI::IsMember({"float32", "tf32", "bfloat16", "float16"}))
      ->capture_default_str();
  app.add_option("--grain", grain)->check(CLI::IsMember({"per-op", "chains", "fused"}))->capture_default_str();
  app.add_option("--images", images, "where batches come from: images on the device, or the loader of the host")
      ->check(CLI::IsMember({"device", "loader"}))
      ->capture_default_str();
  app.add_option("--data", data, "directory of Fashion-MNIST")->capture_default_str();
  const auto size = CLI::Range(std::int64_t{1}, std::int64_t{1} << 24);
  app.add_option("--layers", sizes.layers, "blocks of gpt2; most blocks of a stage of resnet50")->check(size);
  app.add_option("--width", sizes.width, "of gpt2's rows; channels of resnet50's first stage")->check(size);
  app.add_option("--length", sizes.length, "tokens of a sequence of gpt2; side of an image of resnet50")->check(size);
  app.add_option("--classes", sizes.classes, "vocabulary of gpt2; labels of resnet50")->check(size);
}

RowCount TrainingFlags::row_count() const {
  if (model == "gpt2") return {"tokens", sizes.or_else(kGpt2Sizes).length};
  return {"images", 1};
}

TrainingCase make_case(const TrainingFlags& flags, std::int64_t epoch_steps) {
  set_matmul_precision(parse_precision(flags.precision));
  if (flags.model == "gpt2") return gpt2_case(flags, epoch_steps);
  if (flags.model == "resnet50") return resnet50_case(flags, epoch_steps);
  return fashion_case(flags, epoch_steps);
}

}  // namespace troupe::bench
