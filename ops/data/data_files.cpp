#include "troupe/ops/data/data_files.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

std::vector<std::filesystem::path> files_of_shard(const std::vector<std::filesystem::path>& files, int shard,
                                                  int shards) {
  if (files.size() < static_cast<std::size_t>(shards))
    throw Error("sharding", std::to_string(files.size()) + (files.size() == 1 ? " file" : " files") +
                                " cannot be shared by " + std::to_string(shards) +
                                " processes; share the rows instead");
  std::vector<std::filesystem::path> files_of_process;
  for (auto i = static_cast<std::size_t>(shard); i < files.size(); i += static_cast<std::size_t>(shards))
    files_of_process.push_back(files[i]);
  return files_of_process;
}

Dataset read_shard(const std::vector<std::filesystem::path>& files, const ReadFiles& read, int shard, int shards,
                   DataSharding sharding) {
  if (sharding == DataSharding::automatic)
    sharding = files.size() >= static_cast<std::size_t>(shards) ? DataSharding::file : DataSharding::data;
  return read(sharding == DataSharding::file ? files_of_shard(files, shard, shards) : files).shard(sharding);
}

}  // namespace troupe
