#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// How the processes of a job share a data set.
enum class DataSharding : std::uint8_t {
  automatic,  ///< by files if there are as many files as processes, else by rows
  off,        ///< each process visits all of its data in its own order, so an epoch has as many passes
  file,       ///< each process has the rows of its own files
  data,       ///< each process has the same samples and takes its part of every batch
};

std::string to_string(DataSharding sharding);
/// Throws Error if there is no sharding of that name.
DataSharding data_sharding_of(const std::string& name);

/// The rows of a data set that consists of shards, each visited in an order of its own. Every batch has a part of each
/// shard. Shards may have different numbers of rows: then later batches are smaller, and the last batches have rows of
/// the longest shards only.
class ShardLayout {
 public:
  /// One shard.
  ShardLayout() = default;
  /// The rows of each shard; this process has shard `own`. Throws Error if there is no shard of that number.
  ShardLayout(std::vector<std::int64_t> rows, int own);

  bool whole() const { return rows_.empty(); }
  int shards() const { return whole() ? 1 : static_cast<int>(rows_.size()); }
  int own() const { return own_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// A hash of the numbers of rows; 0 for one shard.
  std::int64_t hash() const;

  /// The number of batches of an epoch. Throws Error if a batch has fewer rows than there are shards.
  std::int64_t batches(std::int64_t batch_rows) const;
  /// The rows of a batch that this process's shard provides.
  struct Share {
    std::int64_t first = 0;  ///< index of the first row in the order of the shard
    std::int64_t rows = 0;
    std::int64_t first_row = 0;  ///< index of the first row in the batch
    std::int64_t batch_rows = 0;
  };
  Share share(std::int64_t batch, std::int64_t batch_rows) const;

  bool operator==(const ShardLayout&) const = default;

 private:
  std::vector<std::int64_t> rows_;
  int own_ = 0;
};

}  // namespace troupe
