#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/data/data_sharding.hpp"
#include "troupe/ops/data/field.hpp"

namespace troupe {

/// The rows of a batch that one replica computes.
struct BatchPart {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// The part of a replica of a batch: the first replicas take ceil(rows / replicas) rows each, the last ones the
/// remainder, possibly none.
BatchPart part_of_batch(std::int64_t rows, int replicas, int replica);

/// Samples in memory, each with the same named fields, and the order in which they are visited. A value: functions such
/// as shuffle() and batch() return a changed copy that shares the samples.
class Dataset {
 public:
  using Arrays = std::vector<std::pair<std::string, Tensor>>;

  /// Makes a data set from arrays [N, ...] of any dtype; row i of each array belongs to sample i. If a model or a loss
  /// does not name the fields that it reads, the first field is the model's input and the last one the target. Throws
  /// Error if the numbers of rows differ or two fields have the same name.
  static Dataset from_arrays(const Arrays& arrays);
  /// Makes a data set of labeled samples: the field "features", from uint8 or float32 [N, ...], which a batch holds as
  /// float32 `features * scale + shift`, and the field "labels", int32[N] with values below `classes`. Throws Error if
  /// the counts differ or a label is out of range.
  Dataset(Tensor features, const Tensor& labels, std::int32_t classes, float scale = 1.0F, float shift = 0.0F);

  /// The windows of a sequence: `rows` windows of `times` elements, each of which begins where the one before ends.
  struct Windows {
    std::int64_t times;
    std::int64_t rows;
  };
  /// Makes a data set of windows of a sequence [N]: the field [B, times]. Shares the sequence's memory. Throws Error if
  /// the sequence is too short.
  static Dataset from_windows(const std::string& name, const Tensor& sequence, Windows windows);
  /// Adds a field of the same windows, shifted by `shift` elements, of a sequence [N]. Throws Error if the data set has
  /// no windows or the sequence is too short.
  Dataset with_windows(const std::string& name, const Tensor& sequence, std::int64_t shift) const;

  /// Makes a data set without fields; see with_function().
  static Dataset of_rows(std::int64_t rows);
  /// Adds a field [B, sizes...]. `function` writes each row when it is loaded. It is called on any thread, on several
  /// at a time, and must write the same for the same row. An exception that it throws ends the step.
  template <class T>
  Dataset with_function(const std::string& name, const std::vector<std::int64_t>& sizes,
                        std::function<void(std::int64_t row, std::span<T> to)> function) const {
    const auto write = [function = std::move(function)](std::int64_t row, std::byte* to, std::size_t bytes) {
      function(row, {reinterpret_cast<T*>(to), bytes / sizeof(T)});
    };
    return with_rows_written(name, sizes, DTypeOf<T>::value, write);
  }
  /// Adds a field from an array [N, ...] with a row for each sample, including those that skip() has removed.
  Dataset with_field(const std::string& name, const Tensor& array) const;

  /// Scales a uint8 or float32 field: batches hold float32 `field * scale + shift`, computed batch by batch.
  Dataset scaled(const std::string& field, float scale, float shift = 0.0F) const;
  /// Shuffles anew every epoch: each sample is drawn from a buffer of `buffer` samples that is refilled in order.
  Dataset shuffle(std::int64_t buffer) const;
  /// Sets the rows of a (global) batch. The last batch of an epoch may have fewer.
  Dataset batch(std::int64_t rows) const;
  /// Loads up to `batches` batches ahead on another thread. With 0, every replica loads its part when it needs it, on
  /// its own thread, which keeps the batch in that core's cache.
  Dataset prefetch(std::int64_t batches) const;
  /// Sets the limit for data that is kept on devices with memory of their own. Fields of up to `most_bytes` in total
  /// are copied to each device once, and batches are gathered there by the indices of their samples; the arrays must
  /// not change during a fit. Larger data is loaded on the host, and each batch is copied. With 0, no data is kept on
  /// devices. Fields that functions write, and all fields that are read with them, are loaded on the host. The batches
  /// have the same bits in all cases.
  Dataset keep_on_devices(std::int64_t most_bytes) const;
  /// The default limit, 1 GiB.
  static constexpr std::int64_t kKeptOnDevices = std::int64_t{1} << 30;
  /// Makes batches of `streams` rows in which each row continues the same row of the batch before: row r visits the
  /// samples r n, r n + 1, ..., where n is the number of samples divided by `streams`; remaining samples are not
  /// visited. The result cannot be shuffled, cut or batched otherwise. Throws Error if there are fewer samples than
  /// streams.
  Dataset in_streams(std::int64_t streams) const;
  /// Visits the samples in their order, neither shuffled nor in streams.
  Dataset in_order() const;
  /// Sets how the processes of a job share these samples; see read_shard() for samples in files. By default samples are
  /// shared by rows. Throws Error if data in streams is not shared by rows.
  Dataset shard(DataSharding sharding) const;
  /// Makes these samples one of several shards of the layout. Trainers call it, from the sharding. Throws Error if the
  /// layout has another number of rows for this shard.
  Dataset in_layout(ShardLayout layout) const;
  /// Keeps the first `rows` samples only.
  Dataset take(std::int64_t rows) const;
  /// Removes the first `rows` samples.
  Dataset skip(std::int64_t rows) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t batch_rows() const { return batch_; }
  std::int64_t prefetched() const { return prefetch_; }
  std::int64_t kept_on_devices() const { return kept_on_devices_; }
  /// The number of batches of an epoch, over all shards.
  std::int64_t batches() const;
  DataSharding sharding() const { return sharding_; }
  const ShardLayout& layout() const { return layout_; }

  /// The fields of a batch, in order.
  const std::vector<Field>& fields() const { return *fields_; }
  /// The index of a field. Throws Error that lists the fields if there is none of that name.
  std::size_t index_of(const std::string& field) const { return index_of_field(fields(), field, "dataset"); }

  /// One field of all samples in the order of the arrays, with the values that batches hold: [rows(), ...]. A copy.
  Tensor array(const std::string& field) const;

  /// The samples of a field as stored in memory.
  struct StoredField {
    Tensor rows;  ///< [rows(), ...]
    bool scaled;  ///< whether batches hold `row * scale + shift` in float32
    float scale, shift;
  };
  /// Nothing if a function writes the field.
  std::optional<StoredField> stored(std::size_t field) const;

  /// A text with the numbers of rows and batches and a line for each field with a hash of its content, to compare
  /// processes that must have the same data. A field that a function writes is hashed in a few rows.
  std::string content() const;

  /// Whether epochs differ in the order of their samples.
  bool is_shuffled() const { return streams_ == 0 && shuffle_buffer_ > 1; }
  /// The order of the samples in an epoch. Every shard has its own.
  std::vector<std::int32_t> order(std::uint64_t seed, std::int64_t epoch) const;
  /// Writes one field of the given samples into a tensor [samples, ...] of the field's dtype.
  void gather(std::span<const std::int32_t> samples, std::size_t field, const Tensor& to) const;

 private:
  using WriteRow = std::function<void(std::int64_t row, std::byte* to, std::size_t bytes)>;
  /// The source of a field: row i begins at element `first` + i * (elements of a row) of the array, or is written by a
  /// function.
  struct Column {
    Tensor array;
    std::int64_t first = 0;
    bool scaled = false;
    float scale = 1.0F, shift = 0.0F;
    std::shared_ptr<const WriteRow> write = {};
  };
  Dataset() = default;
  /// A copy in which one member has another value.
  template <class T>
  Dataset with(T Dataset::*member, std::type_identity_t<T> value) const {
    auto changed = *this;
    changed.*member = std::move(value);
    return changed;
  }
  void add(const std::string& name, const Tensor& array);
  void expect_no_streams(const char* what) const;
  void add_field(const std::string& name, const TensorInfo& info, Column column);
  Dataset with_rows_written(const std::string& name, const std::vector<std::int64_t>& sizes, DType dtype,
                            WriteRow write) const;

  std::shared_ptr<const std::vector<Field>> fields_;
  std::vector<Column> columns_;
  std::int64_t rows_ = 0;
  std::int64_t batch_ = 1;
  std::int64_t prefetch_ = 0;
  std::int64_t kept_on_devices_ = kKeptOnDevices;
  std::int64_t shuffle_buffer_ = 0;
  std::int64_t streams_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t times_ = 0;  // elements of a window; 0 without windows
  DataSharding sharding_ = DataSharding::automatic;
  ShardLayout layout_;
};

}  // namespace troupe
