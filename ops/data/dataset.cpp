#include "troupe/ops/data/dataset.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/data/normalize.hpp"

namespace troupe {

namespace {

std::int64_t at_least(std::int64_t least, std::int64_t value, const char* what) {
  if (value < least)
    throw Error("dataset",
                std::string(what) + " must be at least " + std::to_string(least) + ", not " + std::to_string(value));
  return value;
}

}  // namespace

BatchPart part_of_batch(std::int64_t rows, int replicas, int replica) {
  const auto share = (rows + replicas - 1) / replicas;
  const auto first = std::min(rows, share * replica);
  return {first, std::min(rows, first + share) - first};
}

Dataset::Dataset(Tensor features, Tensor labels, std::int32_t classes, float scale, float shift) {
  if (features.dtype() != DType::uint8 && features.dtype() != DType::float32)
    throw Error("dataset", "features must be uint8 or float32, not " + to_string(features));
  if (features.shape().rank() < 1 || labels.shape().rank() != 1 || labels.shape()[0] != features.shape()[0])
    throw Error("dataset",
                to_string(features) + " and labels " + to_string(labels) + " have different numbers of rows");
  if (features.shape()[0] > std::numeric_limits<std::int32_t>::max())
    throw Error("dataset", "at most 2^31 - 1 rows in memory");
  for (auto label : labels.data<std::int32_t>())
    if (label < 0 || label >= classes)
      throw Error("dataset",
                  "label " + std::to_string(label) + " is not one of the " + std::to_string(classes) + " classes");
  rows_ = features.shape()[0];
  examples_ = std::make_shared<const Examples>(Examples{std::move(features), std::move(labels), classes, scale, shift});
}

Dataset Dataset::shuffle(std::int64_t buffer) const {
  auto changed = *this;
  changed.shuffle_buffer_ = at_least(1, buffer, "the shuffle buffer");
  return changed;
}

Dataset Dataset::batch(std::int64_t rows) const {
  auto changed = *this;
  changed.batch_ = at_least(1, rows, "the batch size");
  return changed;
}

Dataset Dataset::prefetch(std::int64_t batches) const {
  auto changed = *this;
  changed.prefetch_ = at_least(0, batches, "the number of batches to prefetch");
  return changed;
}

Dataset Dataset::take(std::int64_t rows) const {
  auto changed = *this;
  changed.rows_ = std::min(rows_, at_least(0, rows, "the number of rows to take"));
  return changed;
}

Shape Dataset::feature_shape() const {
  auto sizes = examples_->features.shape().list();
  sizes[0] = kBatch;
  return Shape(sizes);
}

std::vector<std::int32_t> Dataset::order(std::uint64_t seed, std::int64_t epoch) const {
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows_));
  std::iota(order.begin(), order.end(), 0);
  if (shuffle_buffer_ <= 1) return order;
  // Position i is drawn from positions i .. i + buffer - 1; what stood at i takes the drawn one's place in the buffer.
  for (std::int64_t i = 0; i < rows_; ++i) {
    const auto in_buffer = static_cast<std::uint64_t>(std::min(shuffle_buffer_, rows_ - i));
    const auto drawn = uniform_below(in_buffer, seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(i));
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(i) + drawn]);
  }
  return order;
}

void Dataset::gather(std::span<const std::int32_t> examples, const Tensor& features, const Tensor& labels) const {
  const auto count = static_cast<std::int64_t>(examples.size());
  const auto width = examples_->features.shape().row_elements();
  if (features.elements() != count * width || labels.elements() != count)
    throw Error("dataset",
                std::to_string(count) + " rows do not fit into " + to_string(features) + " and " + to_string(labels));
  auto* to = features.mutable_data<float>().data();
  auto to_labels = labels.mutable_data<std::int32_t>();
  const auto from_labels = examples_->labels.data<std::int32_t>();
  const auto* from = examples_->features.raw();
  const bool bytes = examples_->features.dtype() == DType::uint8;
  for (std::size_t row = 0; row < examples.size(); ++row, to += width) {
    if (examples[row] < 0 || examples[row] >= rows_)
      throw Error("dataset", "there is no row " + std::to_string(examples[row]));
    const auto at = static_cast<std::int64_t>(examples[row]) * width;
    if (bytes)
      normalize(width, reinterpret_cast<const std::uint8_t*>(from) + at, examples_->scale, examples_->shift, to);
    else
      normalize(width, reinterpret_cast<const float*>(from) + at, examples_->scale, examples_->shift, to);
    to_labels[row] = from_labels[static_cast<std::size_t>(examples[row])];
  }
}

}  // namespace troupe
