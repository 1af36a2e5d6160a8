#include "troupe/ops/data/fashion_mnist.hpp"

#include <algorithm>
#include <numeric>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

/// Writes the two test files: `images` images, where all pixels of image i are i, and the labels.
void write_files(const TemporaryDirectory& directory, std::uint32_t images, const Bytes& labels,
                 std::uint32_t side = 28) {
  Bytes pixels;
  for (std::uint32_t i = 0; i < images; ++i) pixels.insert(pixels.end(), side * side, static_cast<std::uint8_t>(i));
  write_gzip(directory / "t10k-images-idx3-ubyte.gz", idx_bytes({images, side, side}, pixels));
  write_gzip(directory / "t10k-labels-idx1-ubyte.gz", idx_bytes({static_cast<std::uint32_t>(labels.size())}, labels));
}

std::string error_of_files(std::uint32_t images, const Bytes& labels, std::uint32_t side = 28) {
  const TemporaryDirectory directory;
  write_files(directory, images, labels, side);
  return error_of([&] { fashion_mnist(Split::test, directory.path()); });
}

/// The counts of the labels, and the mean and range of all pixels.
struct Summary {
  std::vector<int> labels = std::vector<int>(10);
  double mean = 0.0;
  float lowest = 1.0F, highest = 0.0F;
};

Summary summary_of(const Dataset& dataset) {
  constexpr std::int64_t kRows = 1000, kPixels = 28 * 28;
  Summary summary;
  const Tensor features({kRows, 28, 28, 1}, DType::float32), labels({kRows}, DType::int32);
  const auto order = dataset.order(0, 0);
  for (std::int64_t first = 0; first < dataset.rows(); first += kRows) {
    const auto samples = std::span(order).subspan(static_cast<std::size_t>(first), kRows);
    dataset.gather(samples, 0, features);
    dataset.gather(samples, 1, labels);
    for (auto label : labels.data<std::int32_t>()) ++summary.labels.at(static_cast<std::size_t>(label));
    const auto pixels = features.data<float>();
    summary.mean += std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(dataset.rows() * kPixels);
    summary.lowest = std::min(summary.lowest, std::ranges::min(pixels));
    summary.highest = std::max(summary.highest, std::ranges::max(pixels));
  }
  return summary;
}

}  // namespace

TEST_CASE("images and labels are read together", "[fashion_mnist]") {
  const TemporaryDirectory directory;
  write_files(directory, 3, {9, 0, 5});
  const auto dataset = fashion_mnist(Split::test, directory.path());
  CHECK(dataset.rows() == 3);
  CHECK(dataset.fields()[0] == Field{"features", {Shape{kBatch, 28, 28, 1}, DType::float32}});
  const Tensor features({1, 28, 28, 1}, DType::float32), labels({1}, DType::int32);
  dataset.gather(std::vector<std::int32_t>{2}, 0, features);
  dataset.gather(std::vector<std::int32_t>{2}, 1, labels);
  CHECK(labels.item<std::int32_t>() == 5);
  CHECK(std::ranges::all_of(features.data<float>(), [](float x) { return x == Approx(2.0 / 255.0); }));
}

TEST_CASE("a missing directory or file is named", "[fashion_mnist]") {
  const auto missing = error_of([] { fashion_mnist(Split::train, "/no/such/directory"); });
  CHECK(contains(missing, "[fashion_mnist] there is no directory '/no/such/directory'"));
  CHECK(contains(missing, "dataset-fashion-mnist"));
  const TemporaryDirectory directory;
  write_files(directory, 1, {0});
  CHECK(contains(error_of([&] { fashion_mnist(Split::train, directory.path()); }), "train-images-idx3-ubyte.gz"));
  std::filesystem::remove(directory / "t10k-labels-idx1-ubyte.gz");
  CHECK(contains(error_of([&] { fashion_mnist(Split::test, directory.path()); }), "t10k-labels-idx1-ubyte.gz"));
}

TEST_CASE("files that do not fit together are refused", "[fashion_mnist]") {
  CHECK(error_of_files(2, {1, 2}).empty());
  CHECK(contains(error_of_files(2, {1, 2, 3}), "has 2 images but"));
  CHECK(contains(error_of_files(2, {1, 10}), "has label 10 in row 1, which is not one of the 10 classes"));
  CHECK(contains(error_of_files(2, {1, 255}), "label 255"));
  CHECK(contains(error_of_files(2, {1, 2}, 27), "holds [2, 27, 27] where at least one image of 28 x 28 is needed"));
}

TEST_CASE("the real data set agrees with the description of its authors", "[fashion_mnist]") {
  const auto train = summary_of(fashion_mnist(Split::train));
  CHECK(train.labels == std::vector<int>(10, 6000));
  CHECK(train.mean == Approx(0.2860).epsilon(1e-3));
  CHECK(train.lowest == 0.0F);
  CHECK(train.highest == 1.0F);
  const auto test = summary_of(fashion_mnist(Split::test));
  CHECK(test.labels == std::vector<int>(10, 1000));
}

}  // namespace troupe::ops_test
