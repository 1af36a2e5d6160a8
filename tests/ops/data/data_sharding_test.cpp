#include "troupe/ops/data/data_sharding.hpp"

#include <limits>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

Dataset numbers(std::int64_t rows, std::int32_t first = 0) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(rows));
  std::iota(values.begin(), values.end(), first);
  return Dataset::from_arrays({{"numbers", Tensor::from<std::int32_t>({rows}, values)}});
}

}  // namespace

TEST_CASE("every row of every shard is in one batch, and the shares of a batch lie one after the other") {
  const auto rows = GENERATE(std::vector<std::int64_t>{10, 10, 10}, std::vector<std::int64_t>{1, 7, 0, 23},
                             std::vector<std::int64_t>{100, 3}, std::vector<std::int64_t>{5});
  const auto batch_rows = GENERATE(std::int64_t{4}, std::int64_t{5}, std::int64_t{16}, std::int64_t{1000});
  const auto shards = static_cast<int>(rows.size());
  const ShardLayout first(rows, 0);
  std::vector<std::int64_t> seen(rows.size(), 0);
  for (std::int64_t batch = 0; batch < first.batches(batch_rows); ++batch) {
    std::int64_t at = 0;
    for (int shard = 0; shard < shards; ++shard) {
      const auto share = ShardLayout(rows, shard).share(batch, batch_rows);
      CHECK(share.first_row == at);
      CHECK(share.first == seen[static_cast<std::size_t>(shard)]);
      at += share.rows;
      seen[static_cast<std::size_t>(shard)] += share.rows;
    }
    CHECK(at > 0);
    CHECK(at <= batch_rows);
    CHECK(ShardLayout(rows, 0).share(batch, batch_rows).batch_rows == at);
  }
  CHECK(seen == rows);
}

TEST_CASE("the names of sharding are read back, and others refused") {
  for (const auto sharding : {DataSharding::automatic, DataSharding::off, DataSharding::file, DataSharding::data})
    CHECK(data_sharding_of(to_string(sharding)) == sharding);
  CHECK_THROWS_WITH(data_sharding_of("rows"), Contains("'rows' is none of auto, off, file and data"));
}

TEST_CASE("layouts that do not fit are refused") {
  CHECK_THROWS_WITH(ShardLayout().batches(4), Contains("not divided has no shards"));
  CHECK_THROWS_WITH(ShardLayout().share(0, 4), Contains("not divided has no shards"));
  CHECK(ShardLayout({std::numeric_limits<std::int64_t>::max()}, 0).batches(std::numeric_limits<std::int64_t>::max()) ==
        1);
  CHECK_THROWS_WITH(ShardLayout({3, 4}, 2), Contains("no shard 2 among 2"));
  CHECK_THROWS_WITH(ShardLayout({3, 4}, 0).batches(1), Contains("a batch of 1 rows has no share for each of 2"));
  CHECK_THROWS_WITH(numbers(5).in_layout({{3, 4}, 0}), Contains("has 5 rows, but its layout says 3"));
  CHECK_THROWS_WITH(numbers(6).in_streams(2).shard(DataSharding::file), Contains("streams"));
}

TEST_CASE("shards have orders of their own, the first that of the whole") {
  const auto whole = numbers(50).shuffle(50);
  const ShardLayout layout({50, 50}, 0);
  CHECK(whole.in_layout(layout).order(7, 3) == whole.order(7, 3));
  CHECK(whole.in_layout({{50, 50}, 1}).order(7, 3) != whole.order(7, 3));
}

TEST_CASE("the content of data depends on rows, order, scale, and every byte that is visited") {
  const auto data = numbers(9).batch(4);
  CHECK(data.content() == numbers(9).batch(4).content());
  CHECK(data.content() == numbers(12, -3).skip(3).batch(4).content());
  CHECK(data.content() == numbers(12).take(9).batch(4).content());
  for (const auto& other : {numbers(9), numbers(8).batch(4), numbers(9, 1).batch(4), data.shuffle(3)})
    CHECK(data.content() != other.content());
  CHECK(numbers(9).skip(1).content() != numbers(8).content());
  const auto written = [](float factor) {
    return Dataset::of_rows(4).with_function<float>(
        "f", {1}, [factor](std::int64_t row, std::span<float> to) { to[0] = factor * static_cast<float>(row); });
  };
  CHECK(written(1.0F).content() == written(1.0F).content());
  CHECK(written(1.0F).content() != written(2.0F).content());
}

TEST_CASE("a row that the function of a field cannot read is a part of the content of data") {
  const auto damaged = [](std::int64_t bad) {
    return Dataset::of_rows(8).with_function<float>("f", {1}, [bad](std::int64_t row, std::span<float> to) {
      if (row == bad) throw std::runtime_error("cannot be read");
      to[0] = 1.0F;
    });
  };
  const auto readable = damaged(8).content();
  // The hash is of the rows 0, n / 3, n / 2 and n - 1.
  for (const std::int64_t bad : {0, 2, 4, 7}) {
    CHECK(damaged(bad).content() == damaged(bad).content());
    CHECK(damaged(bad).content() != readable);
  }
}
