#pragma once

#include <filesystem>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// The training or the test images.
enum class Split { train, test };

/// The directory of the files in Debian's package dataset-fashion-mnist.
inline constexpr const char* kFashionMnistDirectory = "/usr/share/datasets/fashion-mnist";

/// Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017): 60,000 training and 10,000 test images [28, 28, 1] of 10 kinds of
/// clothing, bytes scaled to [0, 1]. Throws Error if the directory or a file is missing or damaged.
Dataset fashion_mnist(Split split, const std::filesystem::path& directory = kFashionMnistDirectory);

}  // namespace troupe
