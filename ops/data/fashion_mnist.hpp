#pragma once

#include <filesystem>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// A part of Fashion-MNIST: the training images or the test images.
enum class Split { train, test };

/// The directory in which Debian's package dataset-fashion-mnist installs the files.
inline constexpr const char* kFashionMnistDirectory = "/usr/share/datasets/fashion-mnist";

/// Reads Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017): 60,000 training or 10,000 test images of 10 kinds of clothing.
/// The field "features", float32 [B, 28, 28, 1], has the bytes of the images scaled to [0, 1]; the field "labels",
/// int32 [B], has the kinds. Throws Error if the directory or a file is missing or damaged.
Dataset fashion_mnist(Split split, const std::filesystem::path& directory = kFashionMnistDirectory);

}  // namespace troupe
