#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// The way in which the processes of a job share the samples of a data set.
enum class DataSharding : std::uint8_t {
  automatic,  ///< read_shard() chooses `file` or `data`; other data sets are shared as with `data`
  off,        ///< each process visits all of its samples, even if other processes have the same samples
  file,       ///< each process has the samples of its own files and visits all of them
  data,       ///< each process has all samples and takes its part of every batch
};

std::string to_string(DataSharding sharding);
/// The sharding named auto, off, file or data. Throws Error for another name.
DataSharding data_sharding_of(const std::string& name);

/// The division of a data set into shards, one for each process, and of each batch into the parts that the shards
/// provide. Each shard is visited in an order of its own. A batch takes rows from every shard that has rows left.
/// Shards may have different numbers of rows: then later batches are smaller, and the last batches have rows of the
/// longest shards only.
class ShardLayout {
 public:
  /// The layout of a data set that is not divided: one shard.
  ShardLayout() = default;
  /// The layout of shards of which shard i has `rows[i]` rows; this process has the shard with the number `own`. Throws
  /// Error if there is no shard of that number.
  ShardLayout(std::vector<std::int64_t> rows, int own);

  bool whole() const { return rows_.empty(); }
  int shards() const { return whole() ? 1 : static_cast<int>(rows_.size()); }
  int own() const { return own_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// A hash of the numbers of rows of all shards; 0 for a data set that is not divided.
  std::int64_t hash() const;

  /// The number of batches of an epoch: the largest number that any shard needs to provide all of its rows. Throws
  /// Error if a batch has fewer rows than there are shards, or if the data set is not divided.
  std::int64_t batches(std::int64_t batch_rows) const;
  /// The rows that the shard of this process provides to a batch. share() throws Error if the data set is not divided.
  struct Share {
    std::int64_t first = 0;  ///< index of the first of these rows in the order of the shard
    std::int64_t rows = 0;
    std::int64_t first_row = 0;   ///< index of the first of these rows in the batch
    std::int64_t batch_rows = 0;  ///< number of rows that all shards provide to the batch
  };
  Share share(std::int64_t batch, std::int64_t batch_rows) const;

  bool operator==(const ShardLayout&) const = default;

 private:
  void expect_shards() const;

  std::vector<std::int64_t> rows_;
  int own_ = 0;
};

}  // namespace troupe
