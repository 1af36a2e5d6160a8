#include "troupe/ops/data/fashion_mnist.hpp"

#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/idx_file.hpp"

namespace troupe {

namespace {

constexpr std::int32_t kClasses = 10;
constexpr std::int64_t kSide = 28;

[[noreturn]] void refuse_file(const std::filesystem::path& file, const std::string& what) {
  throw Error("fashion_mnist", "'" + file.string() + "' " + what);
}

}  // namespace

Dataset fashion_mnist(Split split, const std::filesystem::path& directory) {
  if (!std::filesystem::is_directory(directory))
    throw Error("fashion_mnist", "there is no directory '" + directory.string() +
                                     "'; install Debian's package dataset-fashion-mnist or give another directory");
  const std::string prefix = split == Split::train ? "train" : "t10k";
  const auto image_file = directory / (prefix + "-images-idx3-ubyte.gz");
  const auto label_file = directory / (prefix + "-labels-idx1-ubyte.gz");
  const auto images = read_idx(image_file, 3);
  const auto label_bytes = read_idx(label_file, 1);
  const auto& shape = images.shape();
  if (shape[0] < 1 || shape[1] != kSide || shape[2] != kSide)
    refuse_file(image_file, "holds " + to_string(shape) + " where at least one image of 28 x 28 is needed");
  if (shape[0] != label_bytes.shape()[0])
    refuse_file(image_file, "has " + std::to_string(shape[0]) + " images but '" + label_file.string() + "' has " +
                                std::to_string(label_bytes.shape()[0]) + " labels");
  const auto bytes = label_bytes.data<std::uint8_t>();
  for (std::size_t row = 0; row < bytes.size(); ++row)
    if (bytes[row] >= kClasses)
      refuse_file(label_file, "has label " + std::to_string(bytes[row]) + " in row " + std::to_string(row) +
                                  ", which is not one of the " + std::to_string(kClasses) + " classes");
  const auto labels =
      Tensor::from<std::int32_t>(label_bytes.shape(), std::vector<std::int32_t>(bytes.begin(), bytes.end()));
  return Dataset(images.view(Shape{shape[0], kSide, kSide, 1}), labels, kClasses, 1.0F / 255.0F);
}

}  // namespace troupe
