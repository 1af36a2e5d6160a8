#include "troupe/ops/pipeline/csv_rows.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/pipeline/files_of_records.hpp"
#include "troupe/tests/ops/pipeline/row_texts.hpp"

namespace troupe::ops_test {

namespace {

const std::vector<CsvField> kHouseFields{
    {"size", {"width", "depth"}, DType::float32, {}, CsvContents::numbers, -1.0, "no_size"},
    {"kind", {"kind"}, DType::int32, {"flat", "house"}},
    {"sold", {"sold"}, DType::int32, {}, CsvContents::dates},
    {"note", {"note"}, DType::uint8, {}, CsvContents::text}};
const std::string kHeader = "kind,width,depth,note,sold\n";

/// The rows of a file, or the text of the error.
std::vector<std::string> houses_in(const std::string& records, const MapOptions& options = {}) {
  const FilesOfRecords files;
  const auto path = files.write("houses.csv", kHeader + records);
  try {
    return rows_of(csv_rows({path}, kHouseFields, {}, options));
  } catch (const Error& error) {
    return {error.what()};
  }
}

}  // namespace

TEST_CASE("the records of CSV files are rows", "[pipeline]") {
  CHECK(
      houses_in("flat,1.5,2e1,new,1970-01-03\r\n"
                " \t\r\n\n"
                "house,,7,\"a \"\"big\"\" one,\n2 floors\",2000-02-29\n"
                " flat ,1,2,,1969-12-31") ==
      std::vector<std::string>{
          "[2]: 1.5 20; [2]: 0 0; []: 0; []: 2; [3]: 110 101 119",
          "[2]: -1 7; [2]: 1 0; []: 1; []: 11016; [21]: 97 32 34 98 105 103 34 32 111 110 101 44 10 50 32 102 108 111 "
          "111 114 115",
          "[2]: 1 2; [2]: 0 0; []: 0; []: -1; [0]:"});
  const FilesOfRecords files;
  const auto first = files.write("first.csv", "\xEF\xBB\xBF\n\nn\n1\n2\n"), second = files.write("second.csv", "n\n3");
  const auto both = csv_rows({first, second}, {{"n", {"n"}, DType::int64}});
  CHECK(rows_of(both) == std::vector<std::string>{"[]: 1", "[]: 2", "[]: 3"});
  CHECK(rows_of(both.subset({2, 0})) == std::vector<std::string>{"[]: 3", "[]: 1"});
  const auto tabs = files.write("tabs.csv", "4\t5\n6\t7\n");
  CHECK(rows_of(csv_rows({tabs}, {{"n", {"1"}, DType::uint8}}, {.separator = '\t', .header = false})) ==
        std::vector<std::string>{"[]: 5", "[]: 7"});
}

TEST_CASE("a record that does not fit is named, or left out", "[pipeline]") {
  const std::string good = "flat,1,2,x,2024-01-01\n";
  const auto skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  for (const auto& [record, what] : std::vector<std::pair<std::string, std::string>>{
           {"flat,1,2,x\n", "the record has 4 columns, not 5"},
           {"barn,1,2,x,2024-01-01\n", "column 'kind': 'barn' is not one of the categories"},
           {"flat,1,z,x,2024-01-01\n", "column 'depth': 'z' is not a number"},
           {"flat,1,2,x,2023-02-29\n", "column 'sold': '2023-02-29' is not a date: write it as 2024-02-29"},
           {"flat,1,2,x,2024-1-1\n", "column 'sold': '2024-1-1' is not a date"},
           {"flat,1,2,a\"b\"c,2024-01-01\n", "the record is broken"}}) {
    const auto error = houses_in(good + record + good);
    REQUIRE(error.size() == 1);
    CHECK_THAT(error[0], Contains("[map] row 1 of '") && Contains("houses.csv': " + what));
    CHECK(houses_in(good + record + good, {.on_error = UnreadableRows::skip, .skipped = skipped}).size() == 2);
  }
  CHECK(*skipped == 6);
}

TEST_CASE("CSV files and fields that do not fit are refused", "[pipeline]") {
  const FilesOfRecords files;
  const auto file = files.write("one.csv", "a,b,b\n1,2,3\n");
  const auto refused = [&](const CsvField& field) { return csv_rows({file}, {field}); };
  CHECK_THROWS_WITH(refused({"x", {"c"}}), Contains("one.csv' has no column 'c' among 'a', 'b', 'b'"));
  CHECK_THROWS_WITH(refused({"x", {"b"}}), Contains("has several columns 'b'"));
  CHECK_THROWS_WITH(refused({"x", {}}), "[csv] field 'x' has no columns");
  CHECK_THROWS_WITH(refused({"x", {"a"}, DType::float32, {}, CsvContents::text}), Contains("of free text needs"));
  CHECK_THROWS_WITH(refused({"x", {"a"}, DType::uint8, {}, CsvContents::numbers, 256.0}), Contains("cannot hold"));
  CHECK_THROWS_WITH(csv_rows({file, files.write("two.csv", "b,a\n")}, {{"x", {"a"}}}),
                    Contains("two.csv' has other columns than '"));
  CHECK_THROWS_WITH(csv_rows({files.write("none.csv", "\n\n")}, {{"x", {"a"}}}), Contains("has no records"));
  CHECK_THROWS_WITH(csv_rows({files.write("gz.csv", "\x1F\x8B\x08")}, {{"x", {"a"}}}), Contains("is compressed"));
  CHECK_THROWS_WITH(csv_rows({files.write("quote.csv", "a\n\"" + std::string(17 << 20, 'x') + "\n")}, {{"x", {"a"}}}),
                    Contains("has a record of more than 16 MiB at byte 2: a quote may be missing"));
}

TEST_CASE("CSV files that are longer than a part of the scan give every record", "[pipeline]") {
  const FilesOfRecords files;
  std::string contents = "n,text\n";
  constexpr std::int64_t kRecords = 200'000;
  for (std::int64_t i = 0; i < kRecords; ++i)
    contents += std::to_string(i) + ",\"" + std::string(i % 13, '\n') + "\"\n";
  contents += "-1,\"" + std::string(3 << 20, 'y') + "\"\n";
  const auto rows = csv_rows({files.write("long.csv", contents)},
                             {{"n", {"n"}, DType::int32}, {"text", {"text"}, DType::uint8, {}, CsvContents::text}});
  REQUIRE(rows.size() == kRecords + 1);
  auto reader = rows.read();
  Row row;
  for (std::int64_t i = 0; i < kRecords; ++i) {
    REQUIRE(reader.next(row));
    if (row.values[0].item<std::int32_t>() != i || row.values[1].elements() != i % 13) FAIL("row " << i << " differs");
  }
  REQUIRE(reader.next(row));
  CHECK(row.values[1].elements() == 3 << 20);
}

}  // namespace troupe::ops_test
