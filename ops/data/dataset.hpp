#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/data/data_sharding.hpp"
#include "troupe/ops/data/field.hpp"

namespace troupe {

/// Rows of a batch that one replica works on.
struct BatchPart {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// The part of replica `replica` of a batch: the first replicas take ceil(rows / replicas) each, the last ones the
/// remainder, possibly none.
BatchPart part_of_batch(std::int64_t rows, int replicas, int replica);

/// Samples in memory, each with the same named fields, and the order in which they are visited. A value: shuffle(),
/// batch() and the like return a changed copy that shares the samples.
class Dataset {
 public:
  using Arrays = std::vector<std::pair<std::string, Tensor>>;

  /// Arrays [N, ...] of any dtype, row i of each belonging to sample i. Where a model or a loss does not say which
  /// field it reads, the first is the model's input and the last the target. Throws Error if the numbers of rows differ
  /// or two fields have one name.
  static Dataset from_arrays(const Arrays& arrays);
  /// Labelled samples: the field "features", uint8 or float32 [N, ...], which a batch holds as float32
  /// `features * scale + shift`, and the field "labels", int32[N] with values below `classes`. Throws Error if the
  /// counts differ or a label is out of range.
  Dataset(Tensor features, const Tensor& labels, std::int32_t classes, float scale = 1.0F, float shift = 0.0F);

  /// How a sequence is cut: `rows` windows of `times` elements, each beginning where the one before ends.
  struct Windows {
    std::int64_t times;
    std::int64_t rows;
  };
  /// Windows of a sequence [N], which they share: the field [B, times]. Throws Error if it is too short.
  static Dataset from_windows(const std::string& name, const Tensor& sequence, Windows windows);
  /// One more field of the same windows, `shift` elements further on in a sequence. Throws Error if there are none.
  Dataset with_windows(const std::string& name, const Tensor& sequence, std::int64_t shift) const;

  /// Samples that have no field yet; see with_function.
  static Dataset of_rows(std::int64_t rows);
  /// One more field [B, sizes...], each row of which a function writes when it is loaded. It is called on any thread,
  /// on several at a time, and must give the same for the same row. What it throws ends the step.
  template <class T>
  Dataset with_function(const std::string& name, const std::vector<std::int64_t>& sizes,
                        std::function<void(std::int64_t row, std::span<T> to)> function) const {
    const auto write = [function = std::move(function)](std::int64_t row, std::byte* to, std::size_t bytes) {
      function(row, {reinterpret_cast<T*>(to), bytes / sizeof(T)});
    };
    return with_rows_written(name, sizes, DTypeOf<T>::value, write);
  }
  /// One more field, with an array [N, ...] for all samples, those that are skipped included.
  Dataset with_field(const std::string& name, const Tensor& array) const;

  /// The uint8 or float32 field of that name as float32 `field * scale + shift`, computed batch by batch.
  Dataset scaled(const std::string& field, float scale, float shift = 0.0F) const;
  /// Shuffles anew every epoch: each sample is drawn from a buffer of `buffer` samples that is refilled in order.
  Dataset shuffle(std::int64_t buffer) const;
  /// `rows` samples to a (global) batch; the last one of an epoch may have fewer.
  Dataset batch(std::int64_t rows) const;
  /// Loads up to `batches` batches ahead on another thread. 0: every replica loads its part when it needs it, on its
  /// own thread, which keeps the batch in that core's cache.
  Dataset prefetch(std::int64_t batches) const;
  /// Where replicas compute on devices with memory of their own: fields of up to `most_bytes` in total are copied to
  /// each of these devices once, and batches are gathered there by the indices of their samples; the arrays must not
  /// change during a fit. Larger ones are loaded on the host, and each batch is copied. 0: none are kept there. Fields
  /// that functions write are loaded on the host, with all others that are read with them. The batches have the same
  /// bits.
  Dataset keep_on_devices(std::int64_t most_bytes) const;
  /// The default.
  static constexpr std::int64_t kKeptOnDevices = std::int64_t{1} << 30;
  /// Batches of `streams` rows, of which each is continued by the same row of the next batch: row r visits samples r n,
  /// r n + 1, ..., where n is the number of samples divided by that of streams; what is left over is not visited. The
  /// data cannot be shuffled, batched or cut otherwise then. Throws Error if there are fewer samples.
  Dataset in_streams(std::int64_t streams) const;
  /// The samples in their order, neither shuffled nor in streams.
  Dataset in_order() const;
  /// How the processes of a job share these samples; see read_shard() for those that lie in files. Samples in memory
  /// are shared by rows unless told otherwise. Throws Error if data in streams are not shared by rows.
  Dataset shard(DataSharding sharding) const;
  /// One of several shards, of which this process has no other; trainers make it from the above. Throws Error if the
  /// layout has another number of rows for it.
  Dataset in_layout(ShardLayout layout) const;
  /// Only the first `rows` samples.
  Dataset take(std::int64_t rows) const;
  /// All but the first `rows` samples.
  Dataset skip(std::int64_t rows) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t batch_rows() const { return batch_; }
  std::int64_t prefetched() const { return prefetch_; }
  std::int64_t kept_on_devices() const { return kept_on_devices_; }
  /// Of an epoch, of all shards.
  std::int64_t batches() const;
  DataSharding sharding() const { return sharding_; }
  const ShardLayout& layout() const { return layout_; }

  /// The fields of a batch, in order.
  const std::vector<Field>& fields() const { return *fields_; }
  /// The number of a field. Throws Error that lists the fields if there is none of that name.
  std::size_t index_of(const std::string& field) const;

  /// One field of all samples, in the order of the arrays, as batches hold it: [rows(), ...]. A copy.
  Tensor array(const std::string& field) const;

  /// The samples of a field as they lie in memory.
  struct StoredField {
    Tensor rows;  ///< [rows(), ...]
    bool scaled;  ///< batches hold `row * scale + shift`, in float32
    float scale, shift;
  };
  /// Nothing if a function writes the field.
  std::optional<StoredField> stored(std::size_t field) const;

  /// What the samples are, a line a field with a hash of its content, for processes that must have the same; of fields
  /// that a function writes, some rows.
  std::string content() const;

  /// Whether epochs differ in the order of their samples.
  bool is_shuffled() const { return streams_ == 0 && shuffle_buffer_ > 1; }
  /// The order of the samples in an epoch. Every shard has one of its own.
  std::vector<std::int32_t> order(std::uint64_t seed, std::int64_t epoch) const;
  /// Writes one field of the given samples into a tensor [samples, ...] of the field's dtype.
  void gather(std::span<const std::int32_t> samples, std::size_t field, const Tensor& to) const;

 private:
  using WriteRow = std::function<void(std::int64_t row, std::byte* to, std::size_t bytes)>;
  /// Where a field comes from: row i of it begins at element `first` + i * row elements of the array, or is written by
  /// a function.
  struct Column {
    Tensor array;
    std::int64_t first = 0;
    bool scaled = false;
    float scale = 1.0F, shift = 0.0F;
    std::shared_ptr<const WriteRow> write = {};
  };
  Dataset() = default;
  void add(const std::string& name, const Tensor& array);
  void expect_no_streams(const char* what) const;
  void add_field(const std::string& name, const TensorInfo& info, Column column);
  static Column windows_at(const std::string& name, const Tensor& sequence, std::int64_t elements, std::int64_t shift);
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
  std::int64_t times_ = 0;  // of windows
  DataSharding sharding_ = DataSharding::automatic;
  ShardLayout layout_;
};

}  // namespace troupe
