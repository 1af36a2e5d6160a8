#pragma once

#include <cstdint>
#include <functional>
#include <limits>
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
#include "troupe/ops/data/sample_order.hpp"

namespace troupe {

/// The rows of a batch that one replica computes: `rows` rows from row `first` on.
struct BatchPart {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// Returns the part of a batch of `rows` rows that replica `replica` of `replicas` computes. Every replica has
/// ceil(rows / replicas) rows, except that the last ones have the rows that are left, possibly none.
BatchPart part_of_batch(std::int64_t rows, int replicas, int replica);

class ArrayHashes;

/// Samples with the same named fields, in memory or written by functions, and the order in which an epoch visits them.
/// A Dataset is a value: functions such as shuffle() and batch() return a changed copy that shares the samples.
class Dataset {
 public:
  using Arrays = std::vector<std::pair<std::string, Tensor>>;

  /// The largest number of rows of a data set and of a batch, and of batches that are loaded ahead.
  static constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
  static constexpr std::int64_t kMostPrefetched = std::int64_t{1} << 16;

  /// Makes a data set from arrays [N, ...] of any dtype, one field for each array; row i of each array belongs to
  /// sample i. If a model or a loss does not name the fields that it reads, the first field is the input of the model
  /// and the last field the target. Throws Error if there is no array, the numbers of rows differ or two fields have
  /// the same name.
  static Dataset from_arrays(const Arrays& arrays);
  /// Makes a data set of labeled samples with two fields. `features` [N, ...] must be uint8 or float32; the field
  /// "features" holds float32 `features * scale + shift`. `labels` must be int32 [N] with values in [0, classes); the
  /// field "labels" holds them. Throws Error if the numbers of rows differ, a label is out of range, or `features` or
  /// `labels` has another dtype or number of axes.
  Dataset(Tensor features, const Tensor& labels, std::int32_t classes, float scale = 1.0F, float shift = 0.0F);

  /// The windows into which a sequence is cut: `rows` windows of `times` elements, each of which begins at the end of
  /// the window before.
  struct Windows {
    std::int64_t times;
    std::int64_t rows;
  };
  /// Makes a data set whose samples are windows of a sequence [N], with one field [B, times]. Shares the memory of the
  /// sequence. Throws Error if the sequence is too short.
  static Dataset from_windows(const std::string& name, const Tensor& sequence, Windows windows);
  /// Adds a field [B, times] whose rows are windows of another sequence [N]. Each window begins `shift` elements later
  /// in `sequence` than the window of from_windows() does in its sequence. Throws Error if the data set does not come
  /// from from_windows(), `shift` is negative or the sequence is too short.
  Dataset with_windows(const std::string& name, const Tensor& sequence, std::int64_t shift) const;

  /// Makes a data set of `rows` samples without fields; with_function() and with_field() add fields.
  static Dataset of_rows(std::int64_t rows);
  /// Adds a field of shape [B, sizes...] and the dtype of T. `function` writes row `row` of the field to `to` when the
  /// row is loaded. Any thread may call the function, several at a time; it must write the same elements each time that
  /// it gets the same row number. An exception that the function throws fails the step. Throws Error if the data set
  /// has a field of that name.
  template <class T>
  Dataset with_function(const std::string& name, const std::vector<std::int64_t>& sizes,
                        std::function<void(std::int64_t row, std::span<T> to)> function) const {
    const auto write = [function = std::move(function)](std::int64_t row, std::byte* to, std::size_t bytes) {
      function(row, {reinterpret_cast<T*>(to), bytes / sizeof(T)});
    };
    return with_rows_written(name, sizes, DTypeOf<T>::value, write);
  }
  /// Adds a field from an array [N, ...] with a row for each sample, including those that skip() has removed. Throws
  /// Error if N is another number or the data set has a field of that name.
  Dataset with_field(const std::string& name, const Tensor& array) const;

  /// Scales a uint8 or float32 field: batches hold float32 `field * scale + shift`, computed when a batch is loaded.
  /// Throws Error if the field has another dtype or a function writes it.
  Dataset scaled(const std::string& field, float scale, float shift = 0.0F) const;
  /// Shuffles all samples in another order each epoch. Takes constant memory for any number of samples; see
  /// KeyedPermutation. Throws Error for data in streams.
  Dataset shuffle() const;
  /// Shuffles the samples in another order each epoch: each sample is drawn from a buffer of `buffer` samples, and the
  /// next sample in the order of the data set takes its place in the buffer. A buffer of 1 does not change the order.
  /// Throws Error for data in streams.
  Dataset shuffle(std::int64_t buffer) const;
  /// Sets the number of rows of a batch over all replicas. The last batch of an epoch may have fewer. Throws Error if
  /// the number is below 1 or above kMostRows, and for data in streams if the number changes.
  Dataset batch(std::int64_t rows) const;
  /// Sets the number of batches that are loaded ahead on another thread. With 0, every replica loads its part of a
  /// batch on its own thread when it needs the part, which keeps the part in the cache of the core of that thread.
  /// Throws Error if the number is negative or above kMostPrefetched.
  Dataset prefetch(std::int64_t batches) const;
  /// Sets the limit in bytes for data that is kept on devices with memory of their own. If the fields that are read
  /// take at most `most_bytes` together, they are copied to each device once, and each batch is gathered there by the
  /// indices of its samples; the arrays must not change during a fit. If the fields take more, or a function writes one
  /// of them, batches are loaded on the host and copied. With 0, no data is kept on devices. Batches have the same bits
  /// in all cases.
  Dataset keep_on_devices(std::int64_t most_bytes) const;
  /// The default limit of keep_on_devices(), 1 GiB.
  static constexpr std::int64_t kKeptOnDevices = std::int64_t{1} << 30;
  /// Makes batches of `streams` rows in which each row continues the same row of the batch before: row r visits the
  /// samples r n, r n + 1, ..., where n is the number of samples divided by `streams`, rounded down; remaining samples
  /// are not visited. The order is not shuffled. On the result, shuffle(), take(), skip() and batch() with another size
  /// throw Error. Throws Error if there are fewer samples than streams.
  Dataset in_streams(std::int64_t streams) const;
  /// Returns a copy that visits the samples in the order of the arrays, neither shuffled nor in streams.
  Dataset in_order() const;
  /// Sets the way in which the processes of a job share these samples; read_shard() does so for samples in files. By
  /// default each process takes its part of every batch. Throws Error for data in streams if `sharding` is `file` or
  /// `off`.
  Dataset shard(DataSharding sharding) const;
  /// Makes the samples of this data set the shard layout.own() of a layout, so that other processes provide the other
  /// shards. Trainers call this function if the sharding is `file` or `off`. Throws Error if the layout has another
  /// number of rows for this shard.
  Dataset in_layout(ShardLayout layout) const;
  /// Keeps only the first `rows` samples, or all if there are fewer. Throws Error for data in streams.
  Dataset take(std::int64_t rows) const;
  /// Removes the first `rows` samples, or all if there are fewer. Throws Error for data in streams.
  Dataset skip(std::int64_t rows) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t batch_rows() const { return batch_; }
  /// The number of rows of the largest batch of an epoch: batch_rows(), or rows() if all samples are in one batch. At
  /// least 1.
  std::int64_t largest_batch() const;
  std::int64_t prefetched() const { return prefetch_; }
  std::int64_t kept_on_devices() const { return kept_on_devices_; }
  /// The number of batches of an epoch. A batch counts once, even if several shards provide rows to it.
  std::int64_t batches() const;
  DataSharding sharding() const { return sharding_; }
  const ShardLayout& layout() const { return layout_; }

  /// The fields of a batch, in order.
  const std::vector<Field>& fields() const { return *fields_; }
  /// The index of the field `field` in fields(). Throws Error that lists the fields if there is none of that name.
  std::size_t index_of(const std::string& field) const { return index_of_field(fields(), field, "dataset"); }

  /// Returns a tensor [rows(), ...] with the values of one field for all samples, in the order of the arrays. The
  /// values are scaled as in batches.
  Tensor array(const std::string& field) const;

  /// A field as it is stored in memory, before scaling.
  struct StoredField {
    Tensor rows;  ///< a view [rows(), ...] of the memory of the samples
    bool scaled;  ///< true: batches hold float32 `row * scale + shift`
    float scale, shift;
  };
  /// The samples of the field with index `field` as they are stored; nothing if a function writes the field.
  std::optional<StoredField> stored(std::size_t field) const;

  /// Returns a text with the number of rows, the batch size, the shuffle buffer and the streams, and for each field its
  /// dtype, shape and scaling and a hash of its samples. Processes compare these texts to check that they have the same
  /// data. If a function writes the field, the hash is of at most 4 of its rows; a row that the function cannot read
  /// counts with a fixed value. Other fields are hashed in the first call; the arrays must not change afterwards.
  std::string content() const;

  /// True if both data sets read the same memory or call the same functions, and visit the samples in the same order
  /// and batches.
  bool same_batches(const Dataset& other) const;

  /// True if the order of the samples differs from epoch to epoch.
  bool is_shuffled() const { return streams_ == 0 && (shuffles_all_ || shuffle_buffer_ > 1); }
  /// True if an order of the samples is drawn one by one, which takes memory and time for each sample.
  bool draws_order() const { return is_shuffled() && !shuffles_all_; }
  /// The row of sample `sample` in the arrays, and the row number that functions get for it: rows count from the first
  /// one, including those that skip() has removed.
  std::int64_t row_of(std::int64_t sample) const { return sample + skipped_; }
  /// The order in which an epoch visits the samples. A shuffled order depends on the seed, the epoch and the number of
  /// the shard.
  SampleOrder sample_order(std::uint64_t seed, std::int64_t epoch) const;
  /// The indices of all samples in that order.
  std::vector<std::int32_t> order(std::uint64_t seed, std::int64_t epoch) const;
  /// Copies the field with index `field` of the given samples into `to`, a tensor [samples, ...] of the dtype of the
  /// field in batches. Throws Error if a sample does not exist or the tensor has another dtype or number of elements.
  void gather(std::span<const std::int32_t> samples, std::size_t field, const Tensor& to) const;

 private:
  using WriteRow = std::function<void(std::int64_t row, std::byte* to, std::size_t bytes)>;
  /// The source of the rows of a field. Row i begins at element `first` + i * (elements of a row) of `array`, unless
  /// `write` is set, which then writes row i. Rows count from the first sample, including those that skip() has
  /// removed.
  struct Column {
    Tensor array;
    std::int64_t first = 0;
    bool scaled = false;
    float scale = 1.0F, shift = 0.0F;
    std::shared_ptr<const WriteRow> write = {};
  };
  Dataset();
  /// Returns a copy of the data set in which `member` has the value `value`.
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
  bool shuffles_all_ = false;
  std::int64_t streams_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t times_ = 0;  // elements of a window; 0 without windows
  DataSharding sharding_ = DataSharding::automatic;
  ShardLayout layout_;
  std::shared_ptr<ArrayHashes> hashes_;  // shared with copies of the data set
};

}  // namespace troupe
