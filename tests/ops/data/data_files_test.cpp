#include "troupe/ops/data/data_files.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

/// A data set with a sample for each letter of the names of the files.
Dataset letters(const std::vector<std::filesystem::path>& files) {
  std::vector<std::int32_t> codes;
  for (const auto& file : files)
    for (const char letter : file.string()) codes.push_back(letter);
  return Dataset::from_arrays(
      {{"codes", Tensor::from<std::int32_t>({static_cast<std::int64_t>(codes.size())}, codes)}});
}

}  // namespace

TEST_CASE("files go round among the shards, unless they are too few") {
  const std::vector<std::filesystem::path> files{"a", "b", "c", "d", "e"};
  using Files = std::vector<std::filesystem::path>;
  CHECK(files_of_shard(files, 0, 2) == Files{"a", "c", "e"});
  CHECK(files_of_shard(files, 1, 2) == Files{"b", "d"});
  CHECK_THROWS_WITH(files_of_shard(files, 0, 6), Contains("[sharding] 5 files cannot be shared by 6 processes"));
  CHECK(read_shard(files, letters, 1, 2).rows() == 2);
  CHECK(read_shard(files, letters, 1, 2).sharding() == DataSharding::file);
  CHECK(read_shard(files, letters, 1, 6).rows() == 5);
  CHECK(read_shard(files, letters, 1, 6).sharding() == DataSharding::data);
  CHECK(read_shard(files, letters, 1, 2, DataSharding::off).rows() == 5);
  CHECK_THROWS_WITH(read_shard(files, letters, 1, 6, DataSharding::file), Contains("5 files"));
}
