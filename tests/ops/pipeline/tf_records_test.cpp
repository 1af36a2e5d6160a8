#include "troupe/ops/pipeline/tf_records.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/pipeline/files_of_records.hpp"

namespace troupe::ops_test {

namespace {

std::vector<std::string> records_of(const Pipeline& pipeline) {
  std::vector<std::string> records;
  auto reader = pipeline.read();
  Row row;
  while (reader.next(row)) {
    const auto bytes = row.values[0].data<std::uint8_t>();
    records.emplace_back(bytes.begin(), bytes.end());
  }
  return records;
}

}  // namespace

TEST_CASE("the records of TFRecord files are rows", "[pipeline]") {
  const FilesOfRecords files;
  const std::vector<std::string> expected{"one", "", std::string(2'000'000, 'x'), "a record with 33 bytes in all"};
  std::string contents;
  for (const auto& record : expected) contents += tf_record(record);
  const auto records = tf_records({files.write("all", contents), files.write("none", "")});
  CHECK(records_of(records) == expected);
  CHECK(records.size() == 4);
}

TEST_CASE("a truncated TFRecord file is refused", "[pipeline]") {
  const FilesOfRecords files;
  const auto whole = tf_record("one") + tf_record("two");
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    if (bytes == tf_record("one").size()) continue;
    CHECK_THROWS_WITH(tf_records({files.write("cut", whole.substr(0, bytes))}),
                      Contains("[tf_records] '") && Contains("cut' is truncated"));
  }
}

TEST_CASE("every flipped bit of a TFRecord file is noticed", "[pipeline]") {
  const FilesOfRecords files;
  const auto whole = tf_record("one") + tf_record("two");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    auto damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto path = files.write("damaged", damaged);
    CHECK_THROWS_AS(records_of(tf_records({path})), Error);
  }
}

TEST_CASE("damaged records are left out and counted on request", "[pipeline]") {
  const FilesOfRecords files;
  auto damaged = tf_record("one");
  damaged[13] ^= 1;
  const auto path = files.write("damaged", tf_record("zero") + damaged + tf_record("two"));
  CHECK_THROWS_WITH(records_of(tf_records({path})),
                    Contains("[map] row 1 of '") && Contains("damaged': the data has another checksum"));
  const auto skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  const auto records = tf_records({path}, {.on_error = UnreadableRows::skip, .skipped = skipped});
  CHECK(records_of(records) == std::vector<std::string>{"zero", "two"});
  CHECK(*skipped == 1);
}

}  // namespace troupe::ops_test
