#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// Returns the files of shard `shard` of `shards`: every file whose index in `files` leaves the remainder `shard` when
/// it is divided by `shards`. Throws Error if there are fewer files than shards.
std::vector<std::filesystem::path> files_of_shard(const std::vector<std::filesystem::path>& files, int shard,
                                                  int shards);

/// A function that reads the samples of some files into one data set.
using ReadFiles = std::function<Dataset(const std::vector<std::filesystem::path>& files)>;
/// Reads the data set of process `shard` of `shards`. With DataSharding::file it has the samples of the files that
/// files_of_shard() returns, with `off` or `data` the samples of all files. `automatic` becomes `file` if there are at
/// least as many files as processes, else `data`. The data set keeps this sharding for the trainer (see
/// Dataset::shard); with `file` the trainer must run in a cluster of the same processes. Throws Error for `file` if
/// there are fewer files than processes.
Dataset read_shard(const std::vector<std::filesystem::path>& files, const ReadFiles& read, int shard, int shards,
                   DataSharding sharding = DataSharding::automatic);

}  // namespace troupe
