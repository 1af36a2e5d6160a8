#include "ops/fashion_mnist.hpp"

#include <string>

#include "ops/error.hpp"
#include "ops/idx_file.hpp"

namespace troupe {

namespace {

constexpr std::int32_t kClasses = 10;
constexpr std::int64_t kSide = 28;

}  // namespace

Dataset fashion_mnist(Split split, const std::filesystem::path& directory) {
  if (!std::filesystem::is_directory(directory))
    throw Error("fashion_mnist", "there is no directory '" + directory.string() +
                                     "'; Debian's package dataset-fashion-mnist has the files");
  const std::string prefix = split == Split::train ? "train" : "t10k";
  const auto images = read_idx(directory / (prefix + "-images-idx3-ubyte.gz"), 3);
  const auto label_bytes = read_idx(directory / (prefix + "-labels-idx1-ubyte.gz"), 1);
  const auto& shape = images.shape();
  if (shape[1] != kSide || shape[2] != kSide)
    throw Error("fashion_mnist", "images are 28 x 28, not " + to_string(shape));
  if (shape[0] != label_bytes.shape()[0])
    throw Error("fashion_mnist", std::to_string(shape[0]) + " images but " + std::to_string(label_bytes.shape()[0]) +
                                     " labels in '" + directory.string() + "'");
  const auto bytes = label_bytes.data<std::uint8_t>();
  const auto labels =
      Tensor::from<std::int32_t>(label_bytes.shape(), std::vector<std::int32_t>(bytes.begin(), bytes.end()));
  return Dataset(images.view(Shape{shape[0], kSide, kSide, 1}), labels, kClasses, 1.0F / 255.0F);
}

}  // namespace troupe
