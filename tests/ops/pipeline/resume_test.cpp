#include <random>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/pipeline/row_executors.hpp"
#include "troupe/tests/ops/pipeline/row_texts.hpp"

namespace troupe::ops_test {

namespace {

Pipeline noised(const Pipeline& pipeline) {
  return pipeline.map([](const RowView& in, RowWriter& out, RowRandom& random) {
    out.set("n", Tensor::scalar(in.value<std::int32_t>("n") * 1'000 + static_cast<std::int32_t>(random.below(1'000))));
  });
}

Pipeline doubled(const Pipeline& pipeline) {
  return pipeline.flat_map(pipeline.fields(), [](const RowView& in, RowSink& out, RowRandom& random) {
    for (auto copies = random.below(4); copies > 0; --copies) {
      auto row = out.add();
      row.set("n", in["n"]);
      row.set("x", in["x"]);
    }
  });
}

Pipeline thinned(const Pipeline& pipeline) {
  return pipeline.filter([](const RowView&, RowRandom& random) { return random.chance(0.8F); });
}

Pipeline interleaved(const Pipeline& pipeline) {
  const auto copies = [](const RowView& row) {
    const auto n = row.value<std::int32_t>("n");
    return noised(words(n % 4)).transform();
  };
  return pipeline.interleave(pipeline.fields(), copies, {.cycle = 3, .block = 2});
}

/// Adds a transform that keeps the fields, chosen by the generator.
Pipeline with_transform(const Pipeline& pipeline, std::mt19937& random) {
  switch (random() % 14) {
    case 0:
      return noised(pipeline);
    case 1:
      return doubled(pipeline);
    case 2:
      return thinned(pipeline);
    case 3:
      return pipeline.shuffle(1 + random() % 100);
    case 4:
      return pipeline.is_indexed() ? pipeline.shuffle() : pipeline.shuffle(7);
    case 5:
      return pipeline.take(150);
    case 6:
      return pipeline.skip(random() % 20);
    case 7:
      return pipeline.shard(2, random() % 2);
    case 8:
      return pipeline.repeat(2);
    case 9:
      return interleaved(pipeline.take(100));
    case 10:
      return pipeline.cache();
    case 11:
      return Pipeline::concatenate(std::vector{pipeline.take(40), thinned(pipeline), pipeline.take(10)});
    case 12:
      return in_order_only(pipeline);
    default:
      return pipeline.padded_batch({.rows = 3, .lengths = {2, 4, 6}})
          .unbatch()
          .map(pipeline.fields(), [](const RowView&, RowWriter&, RowRandom&) {});
  }
}

/// A pipeline of up to 6 transforms, and at the end perhaps batches.
Pipeline random_pipeline(std::mt19937& random) {
  auto pipeline = words(100 + random() % 100);
  for (auto transforms = random() % 7; transforms > 0; --transforms) pipeline = with_transform(pipeline, random);
  pipeline = pipeline.take(400);
  switch (random() % 4) {
    case 0:
      return pipeline.padded_batch({.rows = 5});
    case 1:
      return pipeline.padded_batch({.rows = 4, .lengths = {1, 3, 6}, .padding = {{"x", -1.0}}});
    case 2:
      return Pipeline::zip(std::vector{
          pipeline, numbers(90).shuffle(9).map({{"m", DType::int32}}, [](const RowView& in, RowWriter& out,
                                                                         RowRandom&) { out.set("m", in["n"]); })});
    default:
      return pipeline;
  }
}

}  // namespace

TEST_CASE("a reader continues at every position of random pipelines", "[pipeline]") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 150; ++trial) {
    const auto pipeline = random_pipeline(random);
    const RowEpoch epoch{random(), static_cast<std::int64_t>(random() % 3)};
    auto reader = pipeline.read(epoch);
    std::vector<Position> positions{reader.position()};
    std::vector<std::string> rows;
    Row row;
    while (reader.next(row)) {
      rows.push_back(text_of(row));
      positions.push_back(reader.position());
    }
    positions.push_back(reader.position());
    REQUIRE(rows_of(pipeline, epoch) == rows);
    // A reader that has been at another place continues like a new one, also while threads compute rows of that place.
    RunsApart executor;
    auto moved = pipeline.read({epoch.seed, epoch.epoch, trial % 2 == 0 ? nullptr : &executor});
    for (int i = 0; i < 12; ++i) {
      const auto at = random() % positions.size();
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(std::min(at, rows.size()));
      auto fresh = pipeline.read(epoch);
      fresh.seek(positions[at]);
      CHECK(rows_left(fresh) == std::vector(first, rows.end()));
      moved.seek(positions[at]);
      if (moved.next(row)) {
        REQUIRE(first != rows.end());
        CHECK(text_of(row) == *first);
        fresh.seek(moved.position());
        CHECK(rows_left(fresh) == std::vector(first + 1, rows.end()));
      } else {
        CHECK(first == rows.end());
      }
    }
  }
}

TEST_CASE("a position of another pipeline, seed or epoch is refused", "[pipeline]") {
  const auto position_in = [](const Pipeline& pipeline, RowEpoch epoch) {
    auto reader = pipeline.read(epoch);
    Row row;
    reader.next(row);
    return reader.position();
  };
  const auto pipeline = words(50).shuffle(10);
  auto reader = pipeline.read({1, 2});
  for (const auto& [other, epoch] : std::vector<std::pair<Pipeline, RowEpoch>>{{pipeline, {1, 3}},
                                                                               {pipeline, {2, 2}},
                                                                               {words(50).shuffle(11), {1, 2}},
                                                                               {words(51).shuffle(10), {1, 2}},
                                                                               {words(50).shuffle(), {1, 2}}})
    CHECK_THROWS_WITH(reader.seek(position_in(other, epoch)), Contains("belongs to another pipeline, seed or epoch"));
  CHECK_THROWS_WITH(reader.seek({}), Contains("belongs to another pipeline"));
}

TEST_CASE("a damaged position is refused, or leaves the reader usable", "[pipeline]") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 60; ++trial) {
    const auto pipeline = random_pipeline(random);
    const auto rows = rows_of(pipeline);
    auto reader = pipeline.read();
    Row row;
    for (auto count = random() % 60; count > 0; --count) reader.next(row);
    const auto position = reader.position();
    auto shorter = position, longer = position;
    shorter.pop_back();
    longer.push_back(0);
    for (const auto& damaged : {shorter, longer}) {
      CHECK_THROWS_AS(reader.seek(damaged), Error);
      REQUIRE(rows_left(reader) == rows);
    }
    for (std::size_t i = 1; i < position.size(); ++i)
      for (const std::int64_t change : {-1, 1, 40}) {
        auto damaged = position;
        damaged[i] += change;
        try {
          reader.seek(damaged);
          rows_left(reader);
        } catch (const Error&) {
        }
      }
    reader.seek(position);
  }
}

TEST_CASE("a reader can be replaced while threads compute its rows", "[pipeline]") {
  RunsApart executor;
  const auto slow = [](const RowView&, RowRandom&) {
    std::this_thread::yield();
    return true;
  };
  auto reader = words(500).filter(slow).read({0, 0, &executor});
  Row row;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(reader.next(row));
    reader = words(500 + i).filter(slow).read({0, 0, &executor});
  }
  CHECK(rows_left(reader).size() == 519);
  CHECK_THROWS_WITH(reader.skip(-1), Contains("-1 rows cannot be left out"));
}

}  // namespace troupe::ops_test
