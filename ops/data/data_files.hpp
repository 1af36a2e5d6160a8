#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// The files at indices shard, shard + shards, shard + 2 shards, ... Throws Error if there are fewer files than shards.
std::vector<std::filesystem::path> files_of_shard(const std::vector<std::filesystem::path>& files, int shard,
                                                  int shards);

/// Reads the samples of some files into one data set.
using ReadFiles = std::function<Dataset(const std::vector<std::filesystem::path>& files)>;
/// The data set of process `shard` of `shards`: the samples of the process's own files if the data is shared by files,
/// else of all files. The result records the sharding for trainers whose cluster has these processes. Throws Error if
/// the data is to be shared by files but there are fewer files than processes.
Dataset read_shard(const std::vector<std::filesystem::path>& files, const ReadFiles& read, int shard, int shards,
                   DataSharding sharding = DataSharding::automatic);

}  // namespace troupe
