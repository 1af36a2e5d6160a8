#include "troupe/ops/data/csv_file.hpp"

#include <algorithm>
#include <limits>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/decimal_comma.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"
#include "troupe/tests/skip.hpp"

namespace troupe::ops_test {

namespace {

using testing::DecimalComma;
using testing::skip;

Bytes bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

Dataset read(const std::string& text, const std::vector<CsvField>& fields, const CsvOptions& options = {}) {
  const TemporaryDirectory directory;
  write_plain(directory / "table.csv", bytes_of(text));
  return read_csv(directory / "table.csv", fields, options);
}

std::string refusal(const std::string& text, const std::vector<CsvField>& fields = {{"x", {"a"}}},
                    const CsvOptions& options = {}) {
  return error_of([&] { read(text, fields, options); });
}

}  // namespace

TEST_CASE("columns of a table become fields of any dtype", "[csv]") {
  const auto data = read("size,\"kind, of it\",price\r\n1.5,cat,7\r\n-2e3,dog,0\r\n1e-50,cat,255\r\n",
                         {{"pair", {"size", "price"}},
                          {"kind", {"kind, of it"}, DType::int32, {"dog", "cat"}},
                          {"price", {"price"}, DType::uint8},
                          {"wide", {"price"}, DType::int64}});
  REQUIRE(data.rows() == 3);
  CHECK(data.fields()[0].info == TensorInfo{{kBatch, 2}, DType::float32});
  CHECK(std::ranges::equal(data.array("pair").data<float>(), std::vector<float>{1.5F, 7, -2000, 0, 0, 255}));
  CHECK(std::ranges::equal(data.array("kind").data<std::int32_t>(), std::vector<std::int32_t>{1, 0, 1}));
  CHECK(std::ranges::equal(data.array("price").data<std::uint8_t>(), std::vector<std::uint8_t>{7, 0, 255}));
  CHECK(std::ranges::equal(data.array("wide").data<std::int64_t>(), std::vector<std::int64_t>{7, 0, 255}));
}

TEST_CASE("spaces around a text belong to it only in quotes", "[csv]") {
  const auto data = read(" kind ,x\n cat\t, 1.5\n\" cat\",2\n", {{"kind", {"kind"}, DType::int32, {"cat", " cat"}}});
  CHECK(std::ranges::equal(data.array("kind").data<std::int32_t>(), std::vector<std::int32_t>{0, 1}));
}

TEST_CASE("integers of 64 bits are read to the last digit", "[csv]") {
  const auto data = read(
      "\xEF\xBB\xBF"
      "a\n+9007199254740993\n9007199254740993.0\n-9223372036854775808\n1e3\n",
      {{"x", {"a"}, DType::int64}});
  const std::vector<std::int64_t> expected{9007199254740993, 9007199254740993, std::numeric_limits<std::int64_t>::min(),
                                           1000};
  CHECK(std::ranges::equal(data.array("x").data<std::int64_t>(), expected));
}

TEST_CASE("a number that an integer dtype cannot hold is refused", "[csv][errors]") {
  for (const auto& [text, fault] : {std::pair{"-9223372036854775809", "is out of the range of int64"},
                                    {"1e999999999999", "is out of the range of int64"},
                                    {"9007199254740993.5", "is not an integer"},
                                    {"1e-400", "is not an integer"},
                                    {"-inf", "is too large"},
                                    {"nan", "is not a number"}}) {
    const auto error = refusal("a\n" + std::string(text) + "\n", {{"x", {"a"}, DType::int64}});
    CHECK(contains(error, "record 2, column 'a': '" + std::string(text) + "' " + fault));
  }
}

TEST_CASE("a number is rounded to float32 once", "[csv]") {
  const auto data = read("a\n1.0000000596046447754\n", {{"x", {"a"}}});
  CHECK(data.array("x").data<float>()[0] == 1.00000012F);
}

TEST_CASE("a separator that ends lines or quotes texts is refused", "[csv][errors]") {
  for (const char separator : {'\n', '\r', '"'})
    CHECK(refusal("a\n1\n", {{"x", {"a"}}}, {.separator = separator}).starts_with("[csv] the separator cannot be"));
}

TEST_CASE("a number that rounds to the largest float32 is read", "[csv]") {
  const auto data = read("a\n3.4028235e38\n-3.4028235e38\n", {{"x", {"a"}}});
  const auto largest = std::numeric_limits<float>::max();
  CHECK(std::ranges::equal(data.array("x").data<float>(), std::vector<float>{largest, -largest}));
  CHECK(contains(refusal("a\n3.4028236e38\n"), "'3.4028236e38' is too large"));
}

TEST_CASE("numbers of a table are read alike in a locale with a decimal comma", "[csv]") {
  const DecimalComma locale;
  if (!locale.is_set()) return skip("the system has no locale with a decimal comma");
  CHECK(contains(refusal("a\n1.5e400\n"), "'1.5e400' is too large"));
  CHECK(contains(refusal("a\n1,5\n", {{"x", {"a"}}}, {.separator = ';'}), "'1,5' is not a number"));
  const auto data = read("a\n1.5\n1.5e-400\n+2.5e-1\n", {{"x", {"a"}}});
  CHECK(std::ranges::equal(data.array("x").data<float>(), std::vector<float>{1.5F, 0.0F, 0.25F}));
}

TEST_CASE("a table may have no header, another separator, and be gzipped", "[csv]") {
  const TemporaryDirectory directory;
  write_gzip(directory / "table.gz", bytes_of("1;2\n3;4"));
  const auto data = read_csv(directory / "table.gz", {{"second", {"1"}}}, {.separator = ';', .header = false});
  CHECK(std::ranges::equal(data.array("second").data<float>(), std::vector<float>{2, 4}));
}

TEST_CASE("an error of reading names file, record and column", "[csv][errors]") {
  CHECK(contains(error_of([] { read_csv("/nowhere/t.csv", {}); }), "[csv] '/nowhere/t.csv' does not exist"));
  CHECK(contains(refusal(""), "has no records"));
  CHECK(contains(refusal("a,b\n1,2\n3\n"), "record 3 has 1 columns, not 2"));
  CHECK(contains(refusal("a,b\n1,2\n1x,2\n"), "record 3, column 'a': '1x' is not a number"));
  CHECK(contains(refusal("a,b\n,2\n"), "record 2, column 'a': '' is not a number"));
  CHECK(contains(refusal("a\n1e39\n"), "is too large"));
  CHECK(contains(refusal("a\n1e400\n"), "is too large"));
  for (const auto* text : {"1e-999abc", "+-5", "nan", "--1", "+"})
    CHECK(contains(refusal("a\n" + std::string(text) + "\n"), "is not a number"));
  CHECK(contains(refusal("a\ninf\n"), "is too large"));
  CHECK(contains(refusal("a,a\n1,2\n"), "has several columns 'a'"));
  CHECK(contains(refusal("a\n9223372036854775808\n", {{"x", {"a"}, DType::int64}}), "out of the range of int64"));
  CHECK(contains(refusal("a\nx\n", {{"x", {"a"}, DType::uint8, std::vector<std::string>(257)}}), "more categories"));
  CHECK(contains(refusal("b\n1\n"), "has no column 'a' among 'b'"));
  CHECK(contains(refusal("a\n\"1\n"), "has a broken record"));
  CHECK(contains(refusal("a\n1.5\n", {{"x", {"a"}, DType::int32}}), "'1.5' is not an integer"));
  CHECK(contains(refusal("a\n256\n", {{"x", {"a"}, DType::uint8}}), "out of the range of uint8"));
  CHECK(contains(refusal("a\nbird\n", {{"x", {"a"}, DType::int32, {"cat"}}}), "'bird' is not one of the categories"));
  CHECK(contains(refusal("a\n1\n", {{"x", {}}}), "field 'x' has no columns"));
  CHECK(contains(refusal("a\n1\n", {{"x", {"a"}, DType::float16}}), "cannot be float16"));
  CHECK(contains(refusal("a\n1\n", {{"x", {"a"}}, {"x", {"a"}}}), "two fields named 'x'"));
}

TEST_CASE("empty texts have a value and a mask on request", "[csv]") {
  const CsvField field{"x", {"a", "b"}, DType::int32, {}, CsvContents::numbers, -7.0, "x_missing"};
  const auto data = read("a,b\n1,\n,4\n", {field});
  CHECK(std::ranges::equal(data.array("x").data<std::int32_t>(), std::vector<std::int32_t>{1, -7, -7, 4}));
  CHECK(std::ranges::equal(data.array("x_missing").data<std::uint8_t>(), std::vector<std::uint8_t>{0, 1, 1, 0}));
  CHECK_THAT(refusal("a\n1\n\"\"\n"), Contains("record 3, column 'a': '' is not a number"));
  CHECK_THAT(refusal("a\n1\n", {{"x", {"a"}, DType::int32, {}, CsvContents::numbers, {}, "mask"}}),
             Contains("field 'x' has a mask, but no value for an empty text"));
}

TEST_CASE("dates and times are days and seconds since 1970", "[csv]") {
  const auto data = read(
      "day,time\n1970-01-01,1970-01-01T00:00:00\n2024-02-29,2038-01-19 03:14:08\n1900-03-01,1969-12-31T23:59:59Z\n",
      {{"day", {"day"}, DType::int32, {}, CsvContents::dates},
       {"time", {"time"}, DType::int64, {}, CsvContents::date_times}});
  CHECK(std::ranges::equal(data.array("day").data<std::int32_t>(), std::vector<std::int32_t>{0, 19782, -25508}));
  CHECK(std::ranges::equal(data.array("time").data<std::int64_t>(), std::vector<std::int64_t>{0, 2147483648, -1}));
  for (const auto* const text : {"2023-02-29", "2023-13-01", "2023-1-01", "2023-01-01x", "20230101", ""})
    CHECK_THAT(refusal(std::string("a\n\"") + text + "\"\n", {{"x", {"a"}, DType::int32, {}, CsvContents::dates}}),
               Contains("is not a date"));
  for (const auto* const text : {"2023-01-01", "2023-01-01T24:00:00", "2023-01-01T00:60:00", "2023-01-01T00:00"})
    CHECK_THAT(refusal(std::string("a\n") + text + "\n", {{"x", {"a"}, DType::int64, {}, CsvContents::date_times}}),
               Contains("is not a time"));
  CHECK_THAT(refusal("a\n2038-01-19T03:14:08\n", {{"x", {"a"}, DType::int32, {}, CsvContents::date_times}}),
             Contains("is out of the range of int32"));
  CHECK_THAT(refusal("a\nx\n", {{"x", {"a"}, DType::uint8, {}, CsvContents::text}}), Contains("use csv_rows()"));
  CHECK_THAT(refusal("a\nx\n", {{"x", {"a"}, DType::float32, {}, CsvContents::date_times}}), Contains("use int64"));
  CHECK_THAT(refusal("a\nx\n", {{"x", {"a"}, DType::int32, {"x"}, CsvContents::dates}}), Contains("has categories"));
}

}  // namespace troupe::ops_test
