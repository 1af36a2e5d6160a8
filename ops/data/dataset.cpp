#include "troupe/ops/data/dataset.hpp"

#include <algorithm>
#include <limits>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/name.hpp"
#include "troupe/ops/data/array_hashes.hpp"

namespace troupe {

namespace {

std::int64_t at_least(std::int64_t minimum, std::int64_t value, const char* what) {
  if (value < minimum)
    throw Error("dataset",
                std::string(what) + " must be at least " + std::to_string(minimum) + ", not " + std::to_string(value));
  return value;
}

std::int64_t in_range(std::int64_t minimum, std::int64_t value, std::int64_t maximum, const char* what) {
  if (value > maximum)
    throw Error("dataset",
                std::string(what) + " must be at most " + std::to_string(maximum) + ", not " + std::to_string(value));
  return at_least(minimum, value, what);
}

std::int64_t expect_rows(std::int64_t rows) {
  return in_range(0, rows, Dataset::kMostRows, "the number of rows");
}

}  // namespace

BatchPart part_of_batch(std::int64_t rows, int replicas, int replica) {
  const auto share = (rows + replicas - 1) / replicas;
  const auto first = std::min(rows, share * replica);
  return {first, std::min(rows, first + share) - first};
}

void Dataset::add_field(const std::string& name, const TensorInfo& info, Column column) {
  expect_name("dataset", "a field", name);
  auto fields = fields_ ? *fields_ : std::vector<Field>();
  if (std::ranges::any_of(fields, [&](const Field& field) { return field.name == name; }))
    throw Error("dataset", "there are two fields named '" + name + "'");
  fields.push_back({name, info});
  fields_ = std::make_shared<const std::vector<Field>>(std::move(fields));
  columns_.push_back(std::move(column));
}

void Dataset::add(const std::string& name, const Tensor& array) {
  if (!array) throw Error("dataset", "field '" + name + "' has no array");
  if (array.shape().rank() < 1) throw Error("dataset", "field '" + name + "' has no rows: " + to_string(array));
  expect_rows(array.shape()[0]);
  if (fields_ && array.shape()[0] != rows_ + skipped_)
    throw Error("dataset", "field '" + name + "' is " + to_string(array) + ", but " +
                               (fields_->empty() ? "there are " : "'" + (*fields_)[0].name + "' has ") +
                               std::to_string(rows_ + skipped_) + " rows");
  if (!fields_) rows_ = array.shape()[0];
  auto sizes = array.shape().list();
  sizes[0] = kBatch;
  add_field(name, {Shape(sizes), array.dtype()}, {array});
}

Dataset Dataset::of_rows(std::int64_t rows) {
  Dataset dataset;
  dataset.rows_ = expect_rows(rows);
  dataset.fields_ = std::make_shared<const std::vector<Field>>();
  return dataset;
}

Dataset Dataset::with_field(const std::string& name, const Tensor& array) const {
  auto changed = *this;
  changed.add(name, array);
  return changed;
}

Dataset Dataset::with_rows_written(const std::string& name, const std::vector<std::int64_t>& sizes, DType dtype,
                                   WriteRow write) const {
  auto changed = *this;
  std::vector<std::int64_t> with_batch{kBatch};
  for (const auto size : sizes) with_batch.push_back(at_least(0, size, "a size of a row"));
  changed.add_field(name, {Shape(with_batch), dtype}, {.write = std::make_shared<const WriteRow>(std::move(write))});
  return changed;
}

Dataset Dataset::from_windows(const std::string& name, const Tensor& sequence, Windows windows) {
  auto dataset = of_rows(windows.rows);
  dataset.times_ = at_least(1, windows.times, "the size of a window");
  return dataset.with_windows(name, sequence, 0);
}

Dataset Dataset::with_windows(const std::string& name, const Tensor& sequence, std::int64_t shift) const {
  if (times_ == 0) throw Error("dataset", "only windows can have a further field of windows");
  if (shift < 0) throw Error("dataset", "the shift of '" + name + "' must not be negative: " + std::to_string(shift));
  if (!sequence || sequence.shape().rank() != 1)
    throw Error("dataset", "the windows of '" + name + "' need a sequence [N], not " + to_string(sequence));
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(times_, rows_ + skipped_, &elements) || __builtin_add_overflow(elements, shift, &elements))
    throw Error("dataset", "the windows of '" + name + "' have more elements than 63 bits can count");
  if (elements > sequence.elements())
    throw Error("dataset", "the windows of '" + name + "' need a sequence of " + std::to_string(elements) +
                               " elements, not " + to_string(sequence));
  auto changed = *this;
  changed.add_field(name, {Shape{kBatch, times_}, sequence.dtype()}, {sequence, shift});
  return changed;
}

Dataset Dataset::from_arrays(const Arrays& arrays) {
  if (arrays.empty()) throw Error("dataset", "needs at least one field");
  Dataset dataset;
  for (const auto& [name, array] : arrays) dataset.add(name, array);
  return dataset;
}

Dataset::Dataset() : hashes_(std::make_shared<ArrayHashes>()) {}

Dataset::Dataset(Tensor features, const Tensor& labels, std::int32_t classes, float scale, float shift)
    : Dataset(from_arrays({{"features", std::move(features)}, {"labels", labels}}).scaled("features", scale, shift)) {
  if (!(fields()[1].info == TensorInfo{Shape{kBatch}, DType::int32}))
    throw Error("dataset", "labels must be int32[N], not " + to_string(labels));
  for (auto label : labels.data<std::int32_t>())
    if (label < 0 || label >= classes)
      throw Error("dataset",
                  "label " + std::to_string(label) + " is not one of the " + std::to_string(classes) + " classes");
}

Dataset Dataset::scaled(const std::string& field, float scale, float shift) const {
  const auto index = index_of(field);
  auto changed = *this;
  auto& column = changed.columns_[index];
  if (column.write) throw Error("dataset", "field '" + field + "' is written by a function, and cannot be scaled");
  if (column.array.dtype() != DType::uint8 && column.array.dtype() != DType::float32)
    throw Error("dataset", "only uint8 and float32 can be scaled, not " + to_string(fields()[index]));
  // The column keeps one scaling, so this scaling and an earlier one are combined: y = (x scale1 + shift1) scale2 +
  // shift2.
  column = {column.array, column.first, true, column.scale * scale, column.shift * scale + shift};
  auto fields_changed = fields();
  fields_changed[index].info.dtype = DType::float32;
  changed.fields_ = std::make_shared<const std::vector<Field>>(std::move(fields_changed));
  return changed;
}

void Dataset::expect_no_streams(const char* what) const {
  if (streams_ > 0) throw Error("dataset", std::string("data in streams cannot be ") + what);
}

Dataset Dataset::in_order() const {
  return with(&Dataset::streams_, 0).with(&Dataset::shuffle_buffer_, 0).with(&Dataset::shuffles_all_, false);
}

Dataset Dataset::shuffle() const {
  expect_no_streams("shuffled");
  return with(&Dataset::shuffles_all_, true).with(&Dataset::shuffle_buffer_, 0);
}

Dataset Dataset::shuffle(std::int64_t buffer) const {
  expect_no_streams("shuffled");
  return with(&Dataset::shuffle_buffer_, at_least(1, buffer, "the shuffle buffer"))
      .with(&Dataset::shuffles_all_, false);
}

Dataset Dataset::batch(std::int64_t rows) const {
  if (rows != batch_) expect_no_streams("in batches of another size");
  return with(&Dataset::batch_, in_range(1, rows, kMostRows, "the batch size"));
}

Dataset Dataset::prefetch(std::int64_t batches) const {
  return with(&Dataset::prefetch_, in_range(0, batches, kMostPrefetched, "the number of batches to prefetch"));
}

Dataset Dataset::keep_on_devices(std::int64_t most_bytes) const {
  return with(&Dataset::kept_on_devices_, at_least(0, most_bytes, "the number of bytes to keep on devices"));
}

Dataset Dataset::in_streams(std::int64_t streams) const {
  auto changed = in_order().batch(streams);
  changed.streams_ = streams;
  if (rows_ < streams)
    throw Error("dataset", std::to_string(rows_) + " rows are too few for " + std::to_string(streams) + " streams");
  changed.rows_ = rows_ / streams * streams;
  return changed;
}

Dataset Dataset::skip(std::int64_t rows) const {
  expect_no_streams("cut");
  auto changed = *this;
  const auto skipped = std::min(rows_, at_least(0, rows, "the number of rows to skip"));
  changed.rows_ -= skipped;
  changed.skipped_ += skipped;
  return changed;
}

Dataset Dataset::take(std::int64_t rows) const {
  expect_no_streams("cut");
  return with(&Dataset::rows_, std::min(rows_, at_least(0, rows, "the number of rows to take")));
}

Dataset Dataset::shard(DataSharding sharding) const {
  if (sharding == DataSharding::file || sharding == DataSharding::off) expect_no_streams("shared other than by rows");
  return with(&Dataset::sharding_, sharding);
}

Dataset Dataset::in_layout(ShardLayout layout) const {
  if (!layout.whole())
    if (const auto rows = layout.rows()[static_cast<std::size_t>(layout.own())]; rows != rows_)
      throw Error("dataset",
                  "the shard has " + std::to_string(rows_) + " rows, but its layout says " + std::to_string(rows));
  return with(&Dataset::layout_, std::move(layout));
}

std::int64_t Dataset::batches() const {
  return layout_.whole() ? (rows_ + batch_ - 1) / batch_ : layout_.batches(batch_);
}

std::int64_t Dataset::largest_batch() const {
  return layout_.whole() ? std::clamp<std::int64_t>(rows_, 1, batch_) : batch_;
}

SampleOrder Dataset::sample_order(std::uint64_t seed, std::int64_t epoch) const {
  if (streams_ > 0) return SampleOrder::in_streams(rows_, streams_);
  if (!is_shuffled()) return SampleOrder::in_order(rows_);
  // The random stream depends on the shard. Shard 0 has the stream, and so the order, that a data set without shards
  // has.
  const auto stream = static_cast<std::uint64_t>(layout_.own()) << 32 | static_cast<std::uint32_t>(epoch);
  return shuffles_all_ ? SampleOrder::shuffled(rows_, seed, stream)
                       : SampleOrder::drawn(rows_, shuffle_buffer_, seed, stream);
}

std::vector<std::int32_t> Dataset::order(std::uint64_t seed, std::int64_t epoch) const {
  return sample_order(seed, epoch).all();
}

}  // namespace troupe
