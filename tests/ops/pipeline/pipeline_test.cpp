#include "troupe/ops/pipeline/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/sample_order.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/pipeline/row_texts.hpp"

namespace troupe::ops_test {

namespace {

using Texts = std::vector<std::string>;

/// The texts of rows with these numbers.
Texts numbered(const std::vector<std::int64_t>& rows) {
  Texts texts;
  for (const auto row : rows) texts.push_back("[]: " + std::to_string(row));
  return texts;
}

Texts sorted(Texts texts) {
  std::ranges::sort(texts);
  return texts;
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t end, std::int64_t step = 1) {
  std::vector<std::int64_t> numbers;
  for (; first < end; first += step) numbers.push_back(first);
  return numbers;
}

/// A pipeline that is indexed, and one with the same rows that is not.
std::vector<Pipeline> both(const Pipeline& pipeline) {
  REQUIRE(pipeline.is_indexed());
  const auto stream = in_order_only(pipeline);
  REQUIRE(!stream.is_indexed());
  return {pipeline, stream};
}

}  // namespace

TEST_CASE("rows of arrays are views of the arrays", "[pipeline]") {
  const auto x = Tensor::from<float>({3, 2}, std::vector<float>{0, 1, 2, 3, 4, 5});
  const auto label = Tensor::from<std::int32_t>({3}, std::vector<std::int32_t>{7, 8, 9});
  const auto pipeline = Pipeline::from_arrays({{"x", x}, {"label", label}});
  CHECK(pipeline.size() == 3);
  CHECK(rows_of(pipeline) == Texts{"[2]: 0 1; []: 7", "[2]: 2 3; []: 8", "[2]: 4 5; []: 9"});
  auto reader = pipeline.read();
  Row row;
  REQUIRE(reader.next(row));
  CHECK(row.values[0].raw() == x.raw());
  CHECK_THROWS_WITH(Pipeline::from_arrays({{"x", x}, {"y", Tensor({2}, DType::int32)}}),
                    Contains("the array 'y' has 2 rows, but 'x' has 3"));
  CHECK_THROWS_WITH(Pipeline::from_arrays({{"x", x}, {"x", x}}), Contains("two fields have the name 'x'"));
}

TEST_CASE("take, skip and shard visit a range of the rows", "[pipeline]") {
  for (const auto& pipeline : both(numbers(10))) {
    CHECK(rows_of(pipeline.take(4)) == numbered(range(0, 4)));
    CHECK(rows_of(pipeline.take(0)).empty());
    CHECK(rows_of(pipeline.take(99)) == numbered(range(0, 10)));
    CHECK(rows_of(pipeline.skip(7)) == numbered(range(7, 10)));
    CHECK(rows_of(pipeline.skip(11)).empty());
    CHECK(rows_of(pipeline.shard(3, 1)) == numbered({1, 4, 7}));
    CHECK(rows_of(pipeline.skip(2).shard(4, 3).take(1)) == numbered({5}));
    CHECK_THROWS_WITH(pipeline.shard(3, 3), Contains("there is no shard 3 of 3"));
    CHECK_THROWS_WITH(pipeline.take(-1), Contains("must not be negative"));
  }
}

TEST_CASE("a whole shuffle has each row once, in another order each epoch", "[pipeline]") {
  const auto all = sorted(numbered(range(0, 100)));
  const auto pipeline = numbers(100).shuffle();
  std::set<Texts> orders;
  for (const std::uint64_t seed : {1, 2})
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto rows = rows_of(pipeline, {seed, epoch});
      CHECK(sorted(rows) == all);
      orders.insert(rows);
    }
  CHECK(orders.size() == 6);
  CHECK_THROWS_WITH(in_order_only(numbers(5)).shuffle(), Contains("use shuffle() with a buffer"));
}

TEST_CASE("a shuffle buffer draws as the order of a data set does", "[pipeline]") {
  for (const std::int64_t buffer : {1, 7, 40, 100}) {
    const RowEpoch epoch{3, 5};
    const auto pipeline = numbers(40).shuffle(buffer);
    const auto seed = RowRandom::seed_of(epoch, pipeline.transform()->number());
    std::vector<std::int64_t> drawn;
    for (const auto row : SampleOrder::drawn(40, buffer, seed, 0).all()) drawn.push_back(row);
    CHECK(rows_of(pipeline, epoch) == numbered(drawn));
  }
}

TEST_CASE("subset has rows in any order, and several times", "[pipeline]") {
  CHECK(rows_of(numbers(5).subset({4, 0, 0, 2})) == numbered({4, 0, 0, 2}));
  CHECK_THROWS_WITH(numbers(5).subset({5}), Contains("there is no row 5 of 5"));
}

TEST_CASE("sample draws rows in proportion to their weights", "[pipeline]") {
  const std::vector<double> weights{1.0, 0.0, 3.0, 6.0};
  constexpr std::int64_t kDraws = 40'000;
  const auto rows = rows_of(numbers(4).sample(weights, kDraws), {17, 0});
  CHECK(std::ssize(rows) == kDraws);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto expected = weights[i] / 10.0 * kDraws;
    const auto drawn = std::ranges::count(rows, "[]: " + std::to_string(i));
    // Five standard deviations.
    CHECK(std::abs(static_cast<double>(drawn) - expected) <= 5.0 * std::sqrt(expected));
  }
  CHECK_THROWS_WITH(numbers(4).sample(std::vector{1.0}, 3), Contains("1 weights do not fit 4 rows"));
  CHECK_THROWS_WITH(numbers(1).sample(std::vector{-1.0}, 3), Contains("is not the weight of a row"));
  CHECK_THROWS_WITH(numbers(1).sample(std::vector{0.0}, 3), Contains("all weights are 0"));
  CHECK_THROWS_WITH(numbers(2).sample(std::vector{1e308, 1e308}, 3), Contains("is too large"));
}

TEST_CASE("batch groups rows, and unbatch takes them apart", "[pipeline]") {
  for (const auto& pipeline : both(numbers(7))) {
    CHECK(rows_of(pipeline.batch(3)) == Texts{"[3]: 0 1 2", "[3]: 3 4 5", "[1]: 6"});
    CHECK(rows_of(pipeline.batch(3, true)) == Texts{"[3]: 0 1 2", "[3]: 3 4 5"});
    CHECK(rows_of(pipeline.batch(3).unbatch()) == numbered(range(0, 7)));
    CHECK(rows_of(pipeline.batch(3, true).batch(2)) == Texts{"[2, 3]: 0 1 2 3 4 5"});
  }
  CHECK_THROWS_WITH(numbers(7).batch(0), Contains("cannot have 0 rows"));
  CHECK_THROWS_WITH(words(7).batch(2), Contains("use padded_batch()"));
  CHECK_THROWS_WITH(numbers(7).unbatch(), Contains("has no rows"));
}

TEST_CASE("padded_batch pads rows to the longest, or to the bound of their bucket", "[pipeline]") {
  // The lengths are 0, 5, 3, 1, 6, 4.
  const auto pipeline = words(6);
  CHECK(rows_of(pipeline.padded_batch({.rows = 4, .padding = {{"x", -1.0}}})) ==
        Texts{"[4]: 0 1 2 3; [4, 5]: -1 -1 -1 -1 -1 1 1 1 1 1 2 2 2 -1 -1 3 -1 -1 -1 -1",
              "[2]: 4 5; [2, 6]: 4 4 4 4 4 4 5 5 5 5 -1 -1"});
  CHECK(rows_of(pipeline.padded_batch({.rows = 2, .lengths = {3, 6}})) ==
        Texts{"[2]: 0 2; [2, 3]: 0 0 0 2 2 2", "[2]: 1 4; [2, 6]: 1 1 1 1 1 0 4 4 4 4 4 4", "[1]: 3; [1, 3]: 3 0 0",
              "[1]: 5; [1, 6]: 5 5 5 5 0 0"});
  CHECK(rows_of(pipeline.padded_batch({.rows = 2, .lengths = {3, 6}, .drop_last = true})).size() == 2);
  CHECK_THROWS_WITH(rows_of(pipeline.padded_batch({.rows = 2, .lengths = {5}})),
                    Contains("row 4 of 'words' has the length 6, and the longest bucket 5"));
  CHECK_THROWS_WITH(numbers(3).padded_batch({.rows = 2}), Contains("use batch()"));
  CHECK_THROWS_WITH(pipeline.padded_batch({.rows = 2, .lengths = {4, 4}}), Contains("positive and ascending"));
  CHECK_THROWS_WITH(pipeline.padded_batch({.padding = {{"y", 1.0}}}), Contains("there is no field 'y'"));
}

TEST_CASE("map takes the fields over that its function does not set", "[pipeline]") {
  const RowFields fields{{"square", DType::int32}, {"n", DType::int32}};
  for (const auto& pipeline : both(numbers(3))) {
    const auto squared = pipeline.map(fields, [](const RowView& in, RowWriter& out, RowRandom&) {
      const auto n = in.value<std::int32_t>("n");
      out.make<std::int32_t>("square", {})[0] = n * n;
    });
    CHECK(rows_of(squared) == Texts{"[]: 0; []: 0", "[]: 1; []: 1", "[]: 4; []: 2"});
    CHECK(squared.is_indexed() == pipeline.is_indexed());
    CHECK_THROWS_WITH(rows_of(pipeline.map(fields, [](const RowView&, RowWriter&, RowRandom&) {})),
                      Contains("row 0 of 'numbers': ") && Contains("the field 'square' int32[] has not been set"));
    CHECK_THROWS_WITH(
        rows_of(pipeline.map([](const RowView&, RowWriter& out, RowRandom&) { out.make<float>("n", {2}); })),
        Contains("the field 'n' int32[] is float32[2]"));
  }
}

TEST_CASE("a function that throws names the row", "[pipeline]") {
  for (const auto& pipeline : both(numbers(9))) {
    const auto fails = [](const RowView& in) {
      if (in.value<std::int32_t>("n") == 5) throw std::runtime_error("no such word");
    };
    CHECK_THROWS_WITH(rows_of(pipeline.map([=](const RowView& in, RowWriter&, RowRandom&) { fails(in); })),
                      "[map] row 5 of 'numbers': no such word");
    CHECK_THROWS_WITH(rows_of(pipeline.filter([=](const RowView& in, RowRandom&) {
                        fails(in);
                        return true;
                      })),
                      "[filter] row 5 of 'numbers': no such word");
    CHECK_THROWS_WITH(
        rows_of(pipeline.flat_map(pipeline.fields(), [=](const RowView& in, RowSink&, RowRandom&) { fails(in); })),
        "[flat_map] row 5 of 'numbers': no such word");
  }
}

TEST_CASE("random numbers depend on seed, epoch, transform and row alone", "[pipeline]") {
  const auto draw = [](const RowView&, RowWriter& out, RowRandom& random) {
    out.set("n", Tensor::scalar(static_cast<std::int32_t>(random.below(1 << 30))));
  };
  const auto once = numbers(50).map(draw);
  const auto twice = numbers(50).map(draw).map(draw);
  CHECK(rows_of(once, {1, 2}) != rows_of(once, {1, 3}));
  CHECK(rows_of(once, {1, 2}) != rows_of(once, {2, 2}));
  CHECK(rows_of(once, {1, 2}) != rows_of(twice, {1, 2}));
  const auto rows = rows_of(once, {1, 2});
  CHECK(std::set(rows.begin(), rows.end()).size() == 50);
}

TEST_CASE("zip and concatenate combine pipelines", "[pipeline]") {
  const auto as_m = [](const Pipeline& pipeline) {
    return pipeline.map({{"m", DType::int32}},
                        [](const RowView& in, RowWriter& out, RowRandom&) { out.set("m", in["n"]); });
  };
  for (const auto& pipeline : both(numbers(3))) {
    CHECK(rows_of(Pipeline::zip(std::vector{pipeline, as_m(pipeline.skip(1))})) ==
          Texts{"[]: 0; []: 1", "[]: 1; []: 2"});
    CHECK(rows_of(Pipeline::concatenate(std::vector{pipeline, pipeline.take(0), pipeline.skip(2)})) ==
          numbered({0, 1, 2, 2}));
  }
  CHECK_THROWS_WITH(Pipeline::zip(std::vector{numbers(3), numbers(3)}), Contains("two fields have the name 'n'"));
  CHECK_THROWS_WITH(Pipeline::concatenate(std::vector{numbers(3), words(3)}), Contains("different fields"));
  CHECK_THROWS_WITH(Pipeline::zip({}), Contains("there is no pipeline"));
  // The inputs are shuffled by other random numbers.
  const auto shuffled = numbers(30).shuffle();
  const auto pairs = rows_of(Pipeline::zip(std::vector{shuffled, as_m(shuffled)}));
  CHECK(std::ranges::any_of(pairs, [](const std::string& pair) {
    const auto middle = pair.find("; ");
    return pair.substr(0, middle) != pair.substr(middle + 2);
  }));
}

TEST_CASE("repeat draws other random numbers each time", "[pipeline]") {
  const auto rows = rows_of(numbers(20).shuffle().repeat(3), {4, 1});
  REQUIRE(rows.size() == 60);
  for (std::int64_t i = 0; i < 3; ++i)
    CHECK(Texts(rows.begin() + i * 20, rows.begin() + (i + 1) * 20) == rows_of(numbers(20).shuffle(), {4, 3 + i}));
  CHECK_THROWS_WITH(numbers(2).repeat(0), Contains("cannot be repeated 0 times"));
}

TEST_CASE("interleave reads the pipelines of rows in turn", "[pipeline]") {
  const auto tens = [](const RowView& row) {
    const auto n = row.value<std::int32_t>("n");
    return numbers(n * 10 + n + 1).skip(n * 10).transform();
  };
  const auto pipeline = numbers(4);
  CHECK(rows_of(pipeline.interleave(pipeline.fields(), tens, {.cycle = 2, .block = 2})) ==
        numbered({0, 10, 11, 20, 21, 22, 30, 31, 32, 33}));
  CHECK_THROWS_WITH(rows_of(pipeline.interleave(words(1).fields(), tens)),
                    Contains("[interleave] row 0 of 'numbers'") && Contains("has other fields"));
  CHECK_THROWS_WITH(pipeline.interleave(pipeline.fields(), tens, {.cycle = 0}), Contains("cannot have 0 pipelines"));
}

TEST_CASE("a cache reads its input once", "[pipeline]") {
  auto reads = std::make_shared<int>(0);
  const auto counted =
      Pipeline::from_function("counted", {{"n", DType::int32}}, 8, [reads](std::int64_t index, RowWriter& row) {
        ++*reads;
        row.make<std::int32_t>("n", {})[0] = static_cast<std::int32_t>(index);
      });
  const auto cached = counted.shuffle().cache();
  const auto first = rows_of(cached, {1, 0});
  CHECK(rows_of(cached, {1, 4}) == first);
  CHECK(*reads == 8);
  CHECK(rows_of(cached, {2, 0}) != first);
  CHECK(*reads == 16);
}

TEST_CASE("a cache goes on after an exception of its input", "[pipeline]") {
  auto fails = std::make_shared<bool>(true);
  const auto cached = in_order_only(numbers(9))
                          .map([fails](const RowView& in, RowWriter&, RowRandom&) {
                            if (*fails && in.value<std::int32_t>("n") == 5) throw std::runtime_error("busy");
                          })
                          .batch(2)
                          .cache();
  CHECK_THROWS_WITH(rows_of(cached), Contains("row 5 of 'numbers': busy"));
  CHECK_THROWS_WITH(rows_of(cached), Contains("row 5 of 'numbers': busy"));
  *fails = false;
  CHECK(rows_of(cached) == Texts{"[2]: 0 1", "[2]: 2 3", "[2]: 4 5", "[2]: 6 7", "[1]: 8"});
}

namespace {

/// Counts from 0 to 4, and gives the rows that a test wants to be refused.
class Counting final : public RowStream {
 public:
  explicit Counting(std::vector<Tensor> last) : last_(std::move(last)) {}

  bool next(Row& row) override {
    if (next_ == 5) return false;
    row = {{Tensor::scalar(static_cast<std::int32_t>(next_))}, {nullptr, next_}};
    if (next_++ == 4) row.values = last_;
    return true;
  }
  void save(Position& position) const override { position.push_back(next_); }
  void load(PositionReader& position) override { next_ = position.take(0, 5); }

 private:
  std::vector<Tensor> last_;
  std::int64_t next_ = 0;
};

Pipeline counting(const std::vector<Tensor>& last) {
  return Pipeline::from_streams("counting", {{"n", DType::int32}},
                                [last](const RowEpoch&) { return std::make_unique<Counting>(last); });
}

}  // namespace

TEST_CASE("the rows of a user's stream are checked", "[pipeline]") {
  const auto whole = counting({Tensor::scalar<std::int32_t>(4)});
  CHECK(rows_of(whole.shuffle(1)) == numbered(range(0, 5)));
  CHECK_FALSE(whole.is_indexed());
  CHECK_THROWS_WITH(rows_of(counting({}).batch(9)), Contains("row 4: the row has 0 values for 1 fields"));
  CHECK_THROWS_WITH(rows_of(counting({Tensor({2}, DType::int32)}).batch(9)), Contains("'n' int32[] is int32[2]"));
  CHECK_THROWS_WITH(rows_of(counting({Tensor()})), Contains("has not been set"));
  const auto none = Pipeline::from_streams("none", {{"n", DType::int32}}, [](const RowEpoch&) { return nullptr; });
  CHECK_THROWS_WITH(none.read(), "[pipeline] 'none' has opened no stream");
  CHECK_THROWS_WITH(Pipeline::from_streams("none", {}, {}), Contains("a row needs a field"));
}

TEST_CASE("combined batches have the rows of all inputs", "[pipeline]") {
  const auto rows = numbers(40);
  const auto m =
      rows.map({{"m", DType::int32}}, [](const RowView& in, RowWriter& out, RowRandom&) { out.set("m", in["n"]); });
  CHECK(Pipeline::concatenate(std::vector{rows.batch(4), rows.batch(16)}).batch_rows() == 16);
  CHECK(Pipeline::concatenate(std::vector{rows, rows}).batch_rows() == 0);
  CHECK(Pipeline::zip(std::vector{rows.batch(4), m.batch(4)}).batch_rows() == 4);
  CHECK(Pipeline::zip(std::vector{rows.batch(4), m.batch(5)}).batch_rows() == 0);
}

TEST_CASE("padding and lengths that do not fit are refused", "[pipeline]") {
  const auto bytes = words(3).map({{"x", DType::uint8, {RowField::kVaries}}, {"n", DType::int32}},
                                  [](const RowView&, RowWriter& out, RowRandom&) { out.make<std::uint8_t>("x", {2}); });
  for (const double padding : {-1.0, 256.0, 0.5, std::nan("")})
    CHECK_THROWS_WITH(bytes.padded_batch({.padding = {{"x", padding}}}), Contains("is no uint8"));
  CHECK(rows_of(bytes.padded_batch({.rows = 3, .lengths = {3}, .padding = {{"x", 255.0}}})) ==
        Texts{"[3, 3]: 0 0 255 0 0 255 0 0 255; [3]: 0 1 2"});
  CHECK_THROWS_WITH(bytes.padded_batch({.length_of = "n"}), Contains("'n' int32[] has no length"));
}

}  // namespace troupe::ops_test
