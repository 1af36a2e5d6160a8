#include "troupe/ops/data/text.hpp"

#include <algorithm>
#include <functional>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

TEST_CASE("the characters of a text are numbered and spelled again", "[text]") {
  const std::string text = "banana\n";
  const Characters characters(text);
  CHECK(characters.size() == 4);
  const auto numbers = characters.encode(text);
  CHECK(std::ranges::equal(numbers.data<std::int32_t>(), std::vector<std::int32_t>{2, 1, 3, 1, 3, 1, 0}));
  CHECK(characters.decode(numbers.data<std::int32_t>()) == text);
  CHECK(
      contains(error_of([&] { characters.encode("bad"); }), "[characters] the character with code 100 at position 2"));
  CHECK(contains(error_of([&] { characters.decode(std::vector<std::int32_t>{4}); }), "no character number 4"));
}

TEST_CASE("a text file is read whole, gzipped or plain", "[text]") {
  const TemporaryDirectory directory;
  const std::string text = "a text\nof two lines";
  write_gzip(directory / "text.gz", {text.begin(), text.end()});
  CHECK(read_text(directory / "text.gz") == text);
  write_plain(directory / "empty", {});
  CHECK(contains(error_of([&] { read_text(directory / "empty"); }), "is empty"));
  CHECK(contains(error_of([] { read_text("/nowhere.txt"); }), "[text] '/nowhere.txt' does not exist"));
}

TEST_CASE("a sequence is cut into windows, each with the next one", "[text]") {
  const auto sequence = Tensor::from<std::int32_t>({8}, std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  const auto data = windows_of(sequence, 3);
  REQUIRE(data.rows() == 2);
  CHECK(std::ranges::equal(data.array("characters").data<std::int32_t>(), std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
  CHECK(std::ranges::equal(data.array("next").data<std::int32_t>(), std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  CHECK(std::ranges::equal(data.skip(1).array("next").data<std::int32_t>(), std::vector<std::int32_t>{4, 5, 6}));
  CHECK(contains(error_of([&] { windows_of(sequence, 8); }), "[windows] int32[8] on cpu:0 is too short"));
  CHECK(contains(error_of([&] { windows_of(Tensor(), 8); }), "[windows] needs a sequence"));
}

TEST_CASE("streams go on in the same row of the next batch", "[text]") {
  Tensor sequence({23}, DType::int32);
  for (std::int32_t i = 0; i < 23; ++i) sequence.mutable_data<std::int32_t>()[i] = i;
  const auto data = windows_of(sequence, 2, {.streams = 3});  // 11 windows, of which 9 are in streams
  CHECK(data.rows() == 9);
  CHECK(data.batch_rows() == 3);
  CHECK(data.order(1, 0) == std::vector<std::int32_t>{0, 3, 6, 1, 4, 7, 2, 5, 8});
  for (const auto& change : std::vector<std::function<void()>>{[&] { data.shuffle(9); }, [&] { data.batch(4); },
                                                               [&] { data.take(3); }, [&] { data.skip(3); }})
    CHECK(contains(error_of(change), "[dataset] data in streams cannot be"));
  CHECK(data.in_order().order(1, 0) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(contains(error_of([&] { Dataset::of_rows(3).with_windows("x", sequence, 0); }), "only windows"));
  CHECK(std::ranges::equal(data.array("begins").data<float>(), std::vector<float>{1, 0, 0, 1, 0, 0, 1, 0, 0}));
}

TEST_CASE("a field may be written by a function, row by row", "[dataset]") {
  const auto data = Dataset::of_rows(4)
                        .with_function<float>("square", {2},
                                              [](std::int64_t row, std::span<float> to) {
                                                to[0] = static_cast<float>(row);
                                                to[1] = static_cast<float>(row * row);
                                              })
                        .with_field("label", Tensor({4}, DType::int32));
  CHECK(data.fields()[0].info == TensorInfo{{kBatch, 2}, DType::float32});
  CHECK(std::ranges::equal(data.skip(2).array("square").data<float>(), std::vector<float>{2, 4, 3, 9}));
  CHECK(contains(error_of([&] { data.with_field("label", Tensor({4}, DType::int32)); }), "two fields named 'label'"));
  CHECK(contains(error_of([&] { data.with_field("more", Tensor({5}, DType::int32)); }), "4 rows"));
  CHECK(contains(error_of([&] { data.scaled("square", 2.0F); }), "is written by a function"));
  CHECK(contains(error_of([&] { data.in_streams(5); }), "too few for 5 streams"));
}

}  // namespace troupe::ops_test
