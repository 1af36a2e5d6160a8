#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

class Dataset;

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

/// Every `shards`-th file, from number `shard` on. Throws Error if there are fewer files than shards.
std::vector<std::filesystem::path> files_of_shard(const std::vector<std::filesystem::path>& files, int shard,
                                                  int shards);

/// Reads the samples of some files into one data set.
using ReadFiles = std::function<Dataset(const std::vector<std::filesystem::path>& files)>;
/// The data set of process `shard` of `shards`: of its own files, or of all of them where the processes do not share by
/// files. Trainers whose cluster has these processes know from it how they share. Throws Error if there are fewer files
/// than processes, and they are to be shared.
Dataset read_shard(const std::vector<std::filesystem::path>& files, const ReadFiles& read, int shard, int shards,
                   DataSharding sharding = DataSharding::automatic);

}  // namespace troupe
