#include "troupe/ops/data/data_sharding.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"

namespace troupe {

namespace {

constexpr std::array kNames{"auto", "off", "file", "data"};

/// The largest number of rows that a shard provides to a batch. The limits of two shards differ by at most 1, so that
/// the processes have equal work.
std::int64_t max_rows(std::int64_t batch_rows, int shards, int shard) {
  return batch_rows / shards + (shard < batch_rows % shards ? 1 : 0);
}

}  // namespace

std::string to_string(DataSharding sharding) {
  return kNames.at(static_cast<std::size_t>(sharding));
}

DataSharding data_sharding_of(const std::string& name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<DataSharding>(i);
  throw Error("sharding", "'" + name + "' is none of auto, off, file and data");
}

ShardLayout::ShardLayout(std::vector<std::int64_t> rows, int own) : rows_(std::move(rows)), own_(own) {
  if (own < 0 || own >= static_cast<int>(rows_.size()))
    throw Error("sharding",
                "there is no shard " + std::to_string(own) + " among " + std::to_string(rows_.size()) + " shards");
}

std::int64_t ShardLayout::hash() const {
  if (whole()) return 0;
  Hash hash;
  for (const auto rows : rows_) hash.add(rows);
  return static_cast<std::int64_t>(hash.digest());
}

void ShardLayout::expect_shards() const {
  if (whole()) throw Error("sharding", "the layout of a data set that is not divided has no shards");
}

std::int64_t ShardLayout::batches(std::int64_t batch_rows) const {
  expect_shards();
  std::int64_t batches = 0;
  for (int shard = 0; shard < shards(); ++shard) {
    const auto share = max_rows(batch_rows, shards(), shard);
    const auto rows = rows_[static_cast<std::size_t>(shard)];
    if (share == 0)
      throw Error("sharding", "a batch of " + std::to_string(batch_rows) + " rows has no share for each of " +
                                  std::to_string(shards()) + " processes");
    batches = std::max(batches, rows / share + (rows % share == 0 ? 0 : 1));
  }
  return batches;
}

ShardLayout::Share ShardLayout::share(std::int64_t batch, std::int64_t batch_rows) const {
  expect_shards();
  Share share;
  for (int shard = 0; shard < shards(); ++shard) {
    const auto limit = max_rows(batch_rows, shards(), shard);
    const auto shard_rows = rows_[static_cast<std::size_t>(shard)];
    const auto first = std::min(shard_rows, batch * limit);
    const auto rows = std::min(shard_rows, first + limit) - first;
    if (shard < own_) share.first_row += rows;
    if (shard == own_) std::tie(share.first, share.rows) = std::tie(first, rows);
    share.batch_rows += rows;
  }
  return share;
}

}  // namespace troupe
