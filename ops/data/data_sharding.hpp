#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// How the processes of a job share a data set.
enum class DataSharding : std::uint8_t {
  automatic,  ///< by files if there are as many as processes, else by rows
  off,        ///< every process goes through all of its data in an order of its own, and so an epoch has as many passes
  file,       ///< every process has the rows of its own files
  data,       ///< every process has the same samples, and takes its part of every batch
};

std::string to_string(DataSharding sharding);
/// Throws Error if there is none of that name.
DataSharding data_sharding_of(const std::string& name);

/// The rows of a data set that lies in shards, each with an order of its own. Every batch has a share of each shard;
/// the shards may be uneven: then the later batches are smaller, and the last are of the longest shards alone.
class ShardLayout {
 public:
  /// One shard.
  ShardLayout() = default;
  /// `rows` of each shard, of which this process has number `own`. Throws Error if there is none of that number.
  ShardLayout(std::vector<std::int64_t> rows, int own);

  bool whole() const { return rows_.empty(); }
  int shards() const { return whole() ? 1 : static_cast<int>(rows_.size()); }
  int own() const { return own_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// Of the rows of all shards; 0 if there is one.
  std::int64_t hash() const;

  /// Batches of an epoch. Throws Error if a batch has fewer rows than there are shards.
  std::int64_t batches(std::int64_t batch_rows) const;
  /// This shard's share of a batch.
  struct Share {
    std::int64_t first = 0;  ///< in the order of the shard
    std::int64_t rows = 0;
    std::int64_t first_row = 0;  ///< in the batch
    std::int64_t batch_rows = 0;
  };
  Share share(std::int64_t batch, std::int64_t batch_rows) const;

  bool operator==(const ShardLayout&) const = default;

 private:
  std::vector<std::int64_t> rows_;
  int own_ = 0;
};

}  // namespace troupe
