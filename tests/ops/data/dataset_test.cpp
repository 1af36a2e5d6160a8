#include "troupe/ops/data/dataset.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

using Order = std::vector<std::int32_t>;

/// Samples 0 .. rows - 1. Sample i has the features 10 i and 10 i + 1, and the label i modulo 10.
Dataset range(std::int64_t rows, float scale = 1.0F, float shift = 0.0F) {
  std::vector<float> features;
  Order labels;
  for (std::int32_t i = 0; i < rows; ++i) {
    features.insert(features.end(), {static_cast<float>(10 * i), static_cast<float>(10 * i + 1)});
    labels.push_back(i % 10);
  }
  return {Tensor::from<float>({rows, 2}, features), Tensor::from<std::int32_t>({rows}, labels), 10, scale, shift};
}

/// The samples of every replica's part of every batch of an epoch, in order.
std::vector<std::vector<Order>> parts(const Dataset& dataset, int replicas) {
  const auto order = dataset.order(1, 0);
  std::vector<std::vector<Order>> batches;
  for (std::int64_t first = 0; first < dataset.rows(); first += dataset.batch_rows()) {
    const auto rows = std::min(dataset.batch_rows(), dataset.rows() - first);
    auto& batch = batches.emplace_back();
    for (int replica = 0; replica < replicas; ++replica) {
      const auto part = part_of_batch(rows, replicas, replica);
      const auto begin = order.begin() + first + part.first;
      batch.emplace_back(begin, begin + part.rows);
    }
  }
  return batches;
}

Order sorted(Order order) {
  std::ranges::sort(order);
  return order;
}

Order iota(std::int64_t rows) {
  Order order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

TEST_CASE("a field is stored as its rows and their scaling, unless a function writes it", "[dataset]") {
  const auto data = range(6, 0.5F, 2.0F).skip(2).take(3);
  const auto stored = data.stored(0).value();
  CHECK(stored.rows.shape() == Shape{3, 2});
  CHECK(stored.rows.data<float>()[0] == 20.0F);
  CHECK(stored.rows.data<float>()[5] == 41.0F);
  CHECK((stored.scaled && stored.scale == 0.5F && stored.shift == 2.0F));
  CHECK_FALSE(data.stored(1)->scaled);
  CHECK(data.stored(1)->rows.data<std::int32_t>()[2] == 4);
  const auto written = data.with_function<float>("noise", {}, [](std::int64_t, std::span<float>) {});
  CHECK_FALSE(written.stored(2).has_value());
}

TEST_CASE("a batch is divided among the replicas, the last one's part may be small or empty", "[dataset]") {
  using Parts = std::vector<std::vector<Order>>;
  CHECK(parts(range(6).batch(4), 2) == Parts{{{0, 1}, {2, 3}}, {{4}, {5}}});
  CHECK(parts(range(8).batch(4), 3) == Parts{{{0, 1}, {2, 3}, {}}, {{4, 5}, {6, 7}, {}}});
  CHECK(parts(range(3).batch(5), 1) == Parts{{{0, 1, 2}}});
}

TEST_CASE("the parts of a batch cover it without gaps", "[dataset]") {
  for (std::int64_t rows = 0; rows <= 20; ++rows)
    for (int replicas = 1; replicas <= 8; ++replicas) {
      std::int64_t next = 0, previous = rows;
      for (int replica = 0; replica < replicas; ++replica) {
        const auto part = part_of_batch(rows, replicas, replica);
        CHECK(part.first == next);
        CHECK(part.rows >= 0);
        CHECK(part.rows <= previous);
        next += part.rows;
        previous = part.rows;
      }
      CHECK(next == rows);
    }
}

TEST_CASE("without shuffling, or with a buffer of 1, samples come in order", "[dataset]") {
  CHECK(range(50).order(1, 0) == iota(50));
  CHECK(range(50).shuffle(1).order(1, 3) == iota(50));
}

TEST_CASE("a shuffled epoch holds every sample once", "[dataset]") {
  for (const std::int64_t buffer : {2, 10, 100, 1000}) {
    const auto order = range(100).shuffle(buffer).order(1, 0);
    CHECK(order != iota(100));
    CHECK(sorted(order) == iota(100));
  }
}

TEST_CASE("the order depends on the seed and the epoch, and on nothing else", "[dataset]") {
  for (const auto& dataset : {range(100).shuffle(100), range(100).shuffle()}) {
    CHECK(sorted(dataset.order(1, 0)) == iota(100));
    CHECK(dataset.order(1, 0) == dataset.order(1, 0));
    CHECK(dataset.order(1, 0) == dataset.batch(7).prefetch(3).order(1, 0));
    CHECK(dataset.order(1, 0) != dataset.order(1, 1));
    CHECK(dataset.order(1, 0) != dataset.order(2, 0));
    CHECK(dataset.order(1, 0) != iota(100));
  }
}

TEST_CASE("the last call of shuffle() counts", "[dataset]") {
  const auto all = range(100).shuffle(), drawn = range(100).shuffle(10);
  CHECK(drawn.shuffle().order(1, 0) == all.order(1, 0));
  CHECK(all.shuffle(10).order(1, 0) == drawn.order(1, 0));
  CHECK(all.shuffle(1).order(1, 0) == iota(100));
  CHECK_FALSE(all.same_batches(drawn));
  CHECK(all.content() != drawn.content());
  CHECK(all.content() != range(100).content());
  CHECK(all.in_order().order(1, 0) == iota(100));
  CHECK(all.is_shuffled());
  CHECK_FALSE(all.draws_order());
  CHECK(drawn.draws_order());
  CHECK(range(0).shuffle().order(1, 0).empty());
  CHECK(range(1).shuffle().order(1, 0) == iota(1));
}

TEST_CASE("a field is shown as batches hold it, in order", "[dataset]") {
  const auto data = range(5, 0.5F, 1.0F).shuffle(5).take(3);
  const auto features = data.array("features"), labels = data.array("labels");
  CHECK(features.shape() == Shape{3, 2});
  for (int row = 0; row < 3; ++row) {
    CHECK(features.data<float>()[2 * row] == 5.0F * static_cast<float>(row) + 1.0F);
    CHECK(labels.data<std::int32_t>()[row] == row);
  }
  CHECK_THROWS_WITH(data.array("label"), Contains("no field 'label'"));
}

TEST_CASE("take leaves the first samples", "[dataset]") {
  const auto dataset = range(10).take(4);
  CHECK(dataset.rows() == 4);
  CHECK(sorted(dataset.shuffle(100).order(1, 0)) == iota(4));
  CHECK(range(10).take(100).rows() == 10);
  CHECK(range(10).take(0).order(1, 0).empty());
}

TEST_CASE("a dataset counts its batches", "[dataset]") {
  CHECK(range(10).batch(4).batches() == 3);
  CHECK(range(8).batch(4).batches() == 2);
  CHECK(range(0).batch(4).batches() == 0);
  const auto dataset = range(10).batch(4).prefetch(2);
  CHECK(dataset.batch_rows() == 4);
  CHECK(dataset.prefetched() == 2);
  CHECK(dataset.fields() == std::vector<Field>{{"features", {Shape{kBatch, 2}, DType::float32}},
                                               {"labels", {Shape{kBatch}, DType::int32}}});
}

TEST_CASE("gathered features are scaled and shifted", "[dataset]") {
  const Tensor features({3, 2}, DType::float32), labels({3}, DType::int32);
  const auto dataset = range(10, 0.5F, -1.0F);
  dataset.gather(Order{7, 0, 7}, 0, features);
  dataset.gather(Order{7, 0, 7}, 1, labels);
  CHECK(std::ranges::equal(features.data<float>(), std::vector<float>{34.0F, 34.5F, -1.0F, -0.5F, 34.0F, 34.5F}));
  CHECK(std::ranges::equal(labels.data<std::int32_t>(), Order{7, 0, 7}));
}

TEST_CASE("bytes are features too", "[dataset]") {
  std::vector<std::uint8_t> bytes(512);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  const Dataset dataset(Tensor::from<std::uint8_t>({2, 16, 16}, bytes), Tensor({2}, DType::int32), 1, 2.0F, 1.0F);
  const Tensor features({1, 16, 16}, DType::float32);
  dataset.gather(Order{1}, 0, features);
  for (std::size_t i = 0; i < 256; ++i) CHECK(features.data<float>()[i] == 2.0F * static_cast<float>(i) + 1.0F);
}

TEST_CASE("samples that do not fit together are refused", "[dataset]") {
  const Tensor features({3, 2}, DType::float32);
  const auto make = [&](const std::vector<std::int32_t>& labels) {
    return error_of(
        [&] { Dataset(features, Tensor::from<std::int32_t>({static_cast<std::int64_t>(labels.size())}, labels), 3); });
  };
  CHECK(make({0, 1, 2}).empty());
  CHECK(contains(make({0, 1}), "[dataset] field 'labels' is int32[2] on cpu:0, but 'features' has 3 rows"));
  CHECK(contains(make({0, 1, 3}), "label 3 is not one of the 3 classes"));
  CHECK(contains(make({0, -1, 2}), "label -1"));
  CHECK(error_of([&] { Dataset(features, Tensor({3}, DType::float32), 3); }) ==
        "[dataset] labels must be int32[N], not float32[3] on cpu:0");
  CHECK(contains(error_of([] { Dataset(Tensor({3}, DType::int32), Tensor({3}, DType::int32), 3); }),
                 "only uint8 and float32 can be scaled"));
}

TEST_CASE("fields of any dtype and shape have names", "[dataset]") {
  const auto data = Dataset::from_arrays({
      {"id", Tensor::from<std::int64_t>({3}, std::vector<std::int64_t>{10, 11, 12})},
      {"pair", Tensor::from<float>({3, 2}, std::vector<float>{0, 1, 2, 3, 4, 5})},
      {"raw", Tensor::from<std::uint8_t>({3, 1}, std::vector<std::uint8_t>{0, 128, 255})},
  });
  CHECK(data.fields() == std::vector<Field>{{"id", {Shape{kBatch}, DType::int64}},
                                            {"pair", {Shape{kBatch, 2}, DType::float32}},
                                            {"raw", {Shape{kBatch, 1}, DType::uint8}}});
  CHECK(data.index_of("raw") == 2);
  const Tensor ids({2}, DType::int64), pairs({2, 2}, DType::float32), raw({2, 1}, DType::uint8);
  const Order samples{2, 0};
  data.gather(samples, 0, ids);
  data.gather(samples, 1, pairs);
  data.gather(samples, 2, raw);
  CHECK(std::ranges::equal(ids.data<std::int64_t>(), std::vector<std::int64_t>{12, 10}));
  CHECK(std::ranges::equal(pairs.data<float>(), std::vector<float>{4, 5, 0, 1}));
  CHECK(std::ranges::equal(raw.data<std::uint8_t>(), std::vector<std::uint8_t>{255, 0}));

  const auto scaled = data.scaled("raw", 2.0F, 1.0F).scaled("raw", 10.0F);
  CHECK(scaled.fields()[2].info == TensorInfo{Shape{kBatch, 1}, DType::float32});
  CHECK(data.fields()[2].info.dtype == DType::uint8);
  const Tensor floats({2, 1}, DType::float32);
  scaled.gather(samples, 2, floats);
  CHECK(std::ranges::equal(floats.data<float>(), std::vector<float>{5110, 10}));
  CHECK(contains(error_of([&] { scaled.gather(samples, 2, raw); }), "2 rows of 'raw' float32[B, 1] do not fit"));
  CHECK(contains(error_of([&] { data.gather(Order{3}, 0, Tensor({1}, DType::int64)); }), "no row 3"));
}

TEST_CASE("fields that do not go together are refused by name", "[dataset]") {
  const Tensor three({3}, DType::float32), four({4}, DType::float32);
  const auto refusal = [](const Dataset::Arrays& arrays) {
    return error_of([&] { (void)Dataset::from_arrays(arrays); });
  };
  CHECK(contains(refusal({}), "at least one field"));
  CHECK(contains(refusal({{"a", three}, {"b", four}}), "field 'b' is float32[4] on cpu:0, but 'a' has 3 rows"));
  CHECK(contains(refusal({{"a", three}, {"a", three}}), "two fields named 'a'"));
  CHECK(contains(refusal({{"", three}}), "a field needs a name"));
  CHECK(contains(refusal({{"a", Tensor()}}), "field 'a' has no array"));
  CHECK(contains(refusal({{"a", Tensor::scalar(1.0F)}}), "[dataset] field 'a' has no rows"));
  const auto data = Dataset::from_arrays({{"a", three}, {"n", Tensor({3}, DType::int32)}});
  CHECK(contains(error_of([&] { (void)data.index_of("b"); }), "no field 'b' among 'a' float32[B], 'n' int32[B]"));
  CHECK(contains(error_of([&] { (void)data.scaled("n", 2.0F); }), "not 'n' int32[B]"));
}

TEST_CASE("options out of range are refused by name", "[dataset]") {
  CHECK(contains(error_of([] { (void)range(3).batch(0); }), "[dataset] the batch size must be at least 1, not 0"));
  CHECK(contains(error_of([] { (void)range(3).shuffle(0); }), "the shuffle buffer"));
  CHECK(contains(error_of([] { (void)range(3).prefetch(-1); }), "prefetch"));
  CHECK(contains(error_of([] { (void)range(3).take(-1); }), "to take"));
  CHECK(error_of([] { (void)Dataset::of_rows(std::int64_t{1} << 31); }) ==
        "[dataset] the number of rows must be at most 2147483647, not 2147483648");
  CHECK(error_of([] { (void)Dataset::of_rows(std::int64_t{0x7fffffff}); }).empty());
}

TEST_CASE("numbers too large for a plan are refused by name and bound", "[dataset]") {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  CHECK(error_of([] { (void)range(3).batch(kLargest); }) ==
        "[dataset] the batch size must be at most 2147483647, not 9223372036854775807");
  CHECK(error_of([] { (void)range(3).prefetch(std::int64_t{1} << 40); }) ==
        "[dataset] the number of batches to prefetch must be at most 65536, not 1099511627776");
  CHECK(contains(error_of([] { (void)range(3).in_streams(kLargest); }), "the batch size must be at most 2147483647"));
  CHECK(contains(error_of([] { (void)range(3).in_streams(4); }), "3 rows are too few for 4 streams"));
  CHECK(range(3).batch(Dataset::kMostRows).batches() == 1);
  CHECK(range(3).prefetch(Dataset::kMostPrefetched).prefetched() == 65'536);
  // A shuffle buffer and a cut of more rows than there are mean all rows.
  CHECK(range(3).shuffle(kLargest).order(1, 0).size() == 3);
  CHECK(range(3).take(kLargest).rows() == 3);
  CHECK(range(3).skip(kLargest).rows() == 0);
}

TEST_CASE("windows whose number of elements overflows are refused", "[dataset]") {
  const Tensor sequence({8}, DType::int32);
  const auto refusal = [&](Dataset::Windows windows, std::int64_t shift) {
    return error_of([&] {
      (void)Dataset::from_windows("a", sequence, {.times = 2, .rows = 2});
      (void)Dataset::from_windows("a", sequence, windows).with_windows("b", sequence, shift);
    });
  };
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  CHECK(refusal({.times = 2, .rows = 3}, 2).empty());
  CHECK(contains(refusal({.times = 2, .rows = 3}, 3), "need a sequence of 9 elements"));
  CHECK(contains(refusal({.times = std::int64_t{1} << 62, .rows = 4}, 0), "more elements than 63 bits can count"));
  CHECK(contains(refusal({.times = 2, .rows = 2}, kLargest), "more elements than 63 bits can count"));
  CHECK(contains(refusal({.times = 2, .rows = 2}, -1), "must not be negative: -1"));
}

}  // namespace troupe::ops_test
