#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

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
