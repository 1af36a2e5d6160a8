#include "troupe/ops/pipeline/parallel_rows.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/pipeline/row_executors.hpp"
#include "troupe/tests/ops/pipeline/row_texts.hpp"

namespace troupe::ops_test {

namespace {

/// Pipelines of which every part runs on the executor.
std::vector<Pipeline> parallel_pipelines() {
  const auto draw = [](const RowView& in, RowWriter& out, RowRandom& random) {
    out.set("n", Tensor::scalar(in.value<std::int32_t>("n") * 100 + static_cast<std::int32_t>(random.below(100))));
  };
  const auto copies = [](const RowView& in, RowSink& out, RowRandom& random) {
    for (auto count = random.below(3); count > 0; --count) out.add().set("n", in["n"]);
  };
  const auto all = numbers(200);
  return {all.shuffle().map(draw), all.shuffle().map(draw).batch(7),
          all.flat_map(all.fields(), copies).map(draw).shuffle(20), all.map(draw, {.serial = true}).batch(3)};
}

}  // namespace

TEST_CASE("rows do not depend on the executor", "[pipeline]") {
  for (const auto& pipeline : parallel_pipelines()) {
    const auto expected = rows_of(pipeline, {5, 1});
    NeverRuns never;
    RunsApart apart;
    RunsLate late;
    for (RowExecutor* executor :
         {static_cast<RowExecutor*>(&never), static_cast<RowExecutor*>(&apart), static_cast<RowExecutor*>(&late)}) {
      CHECK(rows_of(pipeline, {5, 1, executor}) == expected);
      // Positions of one executor hold for another.
      auto reader = pipeline.read({5, 1, executor});
      auto alone = pipeline.read({5, 1});
      Row row;
      for (std::size_t i = 0; i < expected.size(); i += 11) {
        alone.seek(reader.position());
        REQUIRE(alone.next(row));
        CHECK(text_of(row) == expected[i]);
        for (int k = 0; k < 11; ++k) reader.next(row);
      }
    }
  }
}

TEST_CASE("the rows before an error come first", "[pipeline]") {
  RunsApart apart;
  for (RowExecutor* executor : {static_cast<RowExecutor*>(nullptr), static_cast<RowExecutor*>(&apart)})
    for (const auto& pipeline : {numbers(60), in_order_only(numbers(60)), numbers(60).shuffle(1)}) {
      const auto broken = pipeline.map([](const RowView& in, RowWriter&, RowRandom&) {
        if (in.value<std::int32_t>("n") == 37) throw std::runtime_error("broken");
      });
      for (const auto& rows : {broken, in_order_only(broken)}) {
        auto reader = rows.read({0, 0, executor});
        Row row;
        for (int i = 0; i < 37; ++i) {
          REQUIRE(reader.next(row));
          CHECK(text_of(row) == "[]: " + std::to_string(i));
        }
        const auto position = reader.position();
        CHECK_THROWS_WITH(reader.next(row), "[map] row 37 of 'numbers': broken");
        reader.seek(position);
        CHECK_THROWS_WITH(reader.next(row), Contains("row 37"));
      }
    }
}

TEST_CASE("a serial function runs on the thread that reads, in order", "[pipeline]") {
  RunsApart apart;
  const auto reader = std::this_thread::get_id();
  std::vector<std::int32_t> seen;
  const auto pipeline = numbers(50).map(
      [&](const RowView& in, RowWriter&, RowRandom&) {
        CHECK(std::this_thread::get_id() == reader);
        seen.push_back(in.value<std::int32_t>("n"));
      },
      {.serial = true});
  CHECK(rows_of(pipeline.map([](const RowView&, RowWriter&, RowRandom&) {}), {0, 0, &apart}).size() == 50);
  CHECK(std::ranges::is_sorted(seen));
  CHECK(seen.size() == 50);
}

TEST_CASE("threads compute rows at one time, and the end of a reader waits for them", "[pipeline]") {
  RunsApart apart;
  std::atomic<int> begun{0}, running{0};
  const auto pipeline = numbers(64).map([&](const RowView&, RowWriter&, RowRandom&) {
    ++running;
    ++begun;
    // Each function waits for another one that runs at the same time, except near the end, where there may be none.
    while (begun < 2) std::this_thread::yield();
    --running;
  });
  {
    auto reader = pipeline.read({0, 0, &apart});
    Row row;
    REQUIRE(reader.next(row));
  }
  CHECK(running == 0);
  CHECK(begun >= 2);
}

}  // namespace troupe::ops_test
