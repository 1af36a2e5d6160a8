#include "troupe/ops/pipeline/text_lines.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/pipeline/files_of_records.hpp"

namespace troupe::ops_test {

namespace {

std::vector<std::string> texts_of(const Pipeline& pipeline) {
  std::vector<std::string> texts;
  auto reader = pipeline.read();
  Row row;
  while (reader.next(row)) {
    const auto bytes = row.values[0].data<std::uint8_t>();
    texts.emplace_back(bytes.begin(), bytes.end());
  }
  return texts;
}

}  // namespace

TEST_CASE("the lines of files are rows", "[pipeline]") {
  const FilesOfRecords files;
  const auto first = files.write("first", "one\ntwo\r\n\nfour");
  const auto none = files.write("none", "");
  const auto last = files.write("last", "\nfive\n");
  const auto lines = text_lines({first, none, last});
  CHECK(lines.size() == 6);
  CHECK(texts_of(lines) == std::vector<std::string>{"one", "two", "", "four", "", "five"});
  CHECK(texts_of(lines.subset({5, 1})) == std::vector<std::string>{"five", "two"});
  CHECK(text_lines({none}).size() == 0);
  CHECK(text_lines({}).size() == 0);
}

TEST_CASE("lines that are longer than a part of the scan stay whole", "[pipeline]") {
  const FilesOfRecords files;
  std::vector<std::string> expected;
  std::string contents;
  for (const std::size_t size : {3'000'000, 5, 1 << 20, 0, 2'500'000}) {
    expected.emplace_back(size, static_cast<char>('a' + expected.size()));
    contents += expected.back() + "\n";
  }
  CHECK(texts_of(text_lines({files.write("long", contents)})) == expected);
}

TEST_CASE("files that have no lines are refused by name", "[pipeline]") {
  const FilesOfRecords files;
  CHECK_THROWS_WITH(text_lines({files.path("absent")}),
                    Contains("[text_lines] '") && Contains("absent' cannot be opened: No such file"));
  CHECK_THROWS_WITH(text_lines({"/dev/zero"}), Contains("'/dev/zero' is no regular file"));
  CHECK_THROWS_WITH(text_lines({files.write("packed", "\x1F\x8B\x08")}), Contains("is compressed"));
}

TEST_CASE("a file that becomes shorter fails the read", "[pipeline]") {
  const FilesOfRecords files;
  const auto path = files.write("shrinks", "one\ntwo\nthree\n");
  const auto lines = text_lines({path});
  std::filesystem::resize_file(path, 9);
  CHECK(texts_of(lines.take(2)).size() == 2);
  CHECK_THROWS_WITH(texts_of(lines), Contains("shrinks' ends before byte 14"));
}

}  // namespace troupe::ops_test
