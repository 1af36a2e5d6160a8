#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// Returns the files at the indices shard, shard + shards, shard + 2 shards, ... Throws Error if there are fewer files
/// than shards.
std::vector<std::filesystem::path> files_of_shard(const std::vector<std::filesystem::path>& files, int shard,
                                                  int shards);

/// A function that reads the samples of some files into one data set.
using ReadFiles = std::function<Dataset(const std::vector<std::filesystem::path>& files)>;
/// Returns the data set of process `shard` of `shards`. With DataSharding::file it has the samples of the files that
/// files_of_shard() returns, else those of all files; `automatic` becomes `file` if there are at least as many files as
/// processes, else `data`. The result records the sharding for trainers whose cluster has these processes. Throws Error
/// for `file` if there are fewer files than processes.
Dataset read_shard(const std::vector<std::filesystem::path>& files, const ReadFiles& read, int shard, int shards,
                   DataSharding sharding = DataSharding::automatic);

}  // namespace troupe
