#include "troupe/ops/pipeline/tf_examples.hpp"

#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/pipeline/files_of_records.hpp"
#include "troupe/tests/ops/pipeline/row_texts.hpp"

namespace troupe::ops_test {

namespace {

// The wire format of protocol buffers, written by hand: https://protobuf.dev/programming-guides/encoding/.

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 128; number /= 128) bytes += static_cast<char>(number % 128 + 128);
  return bytes + static_cast<char>(number);
}

/// A field that holds bytes, such as a message.
std::string field_of(int tag, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(tag) * 8 + 2) + varint(bytes.size()) + bytes;
}

std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), ' ');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return field_of(2, field_of(1, bytes));
}

std::string integers(const std::vector<std::int64_t>& values) {
  std::string bytes;
  for (const auto value : values) bytes += varint(static_cast<std::uint64_t>(value));
  return field_of(3, field_of(1, bytes));
}

std::string texts(const std::vector<std::string>& values) {
  std::string list;
  for (const auto& value : values) list += field_of(1, value);
  return field_of(1, list);
}

std::string example(const std::vector<std::pair<std::string, std::string>>& features) {
  std::string map;
  for (const auto& [name, feature] : features) map += field_of(1, field_of(1, name) + field_of(2, feature));
  return field_of(1, map);
}

/// The rows of a file with one example.
std::vector<std::string> rows_of_example(const std::string& message, const RowFields& fields) {
  const FilesOfRecords files;
  return rows_of(tf_examples({files.write("one", tf_record(message))}, fields));
}

const RowFields kFields{{"x", DType::float32, {2, RowField::kVaries}},
                        {"n", DType::int64},
                        {"small", DType::int32, {RowField::kVaries}},
                        {"text", DType::uint8, {RowField::kVaries}}};

}  // namespace

TEST_CASE("the features of an example are the fields of a row", "[pipeline]") {
  const auto message = example({{"text", texts({"hi"})},
                                {"unread", texts({"a", "b"})},
                                {"x", floats({1.5F, 2, 3, 4})},
                                {"n", integers({-1234567890123})},
                                {"small", integers({-5, 2147483647, 300})}});
  CHECK(rows_of_example(message, kFields) ==
        std::vector<std::string>{"[2, 2]: 1.5 2 3 4; []: -1234567890123; [3]: -5 2147483647 300; [2]: 104 105"});
  CHECK(rows_of_example(example({{"small", {}}}), {kFields[2]}) == std::vector<std::string>{"[0]:"});
}

TEST_CASE("numbers that are not packed are read, too", "[pipeline]") {
  // Two varints with tags of their own.
  const auto list = varint(8) + varint(7) + varint(8) + varint(9);
  CHECK(rows_of_example(example({{"small", field_of(3, list)}}), {kFields[2]}) == std::vector<std::string>{"[2]: 7 9"});
}

TEST_CASE("numbers and messages of another wire type are refused", "[pipeline]") {
  const auto floats_with = [](const std::string& list) { return example({{"small", field_of(3, list)}}); };
  // A 64-bit number in place of a varint, and a varint in place of the message Features.
  CHECK_THROWS_WITH(rows_of_example(floats_with(varint(9) + std::string(8, 'x')), {kFields[2]}),
                    Contains("a number has another wire type"));
  CHECK_THROWS_WITH(rows_of_example(varint(8) + varint(1), {kFields[2]}), Contains("a message has another wire type"));
  CHECK_THROWS_WITH(decode_example({{"record", DType::uint8}}), Contains("no field can have the name 'record'"));
}

TEST_CASE("features that do not fit are refused by name", "[pipeline]") {
  const auto refusal = [](const std::string& feature, const RowField& field) {
    try {
      rows_of_example(example({{field.name, feature}}), {field});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refusal(floats({1, 2, 3}), kFields[0]), Contains("'x' float32[2, ?] has 3 values"));
  CHECK_THAT(refusal(integers({1, 2}), kFields[1]), Contains("'n' int64[] has 2 values"));
  CHECK_THAT(refusal(integers({2147483648}), kFields[2]), Contains("'small' int32[?] has the value 2147483648"));
  CHECK_THAT(refusal(integers({1}), kFields[0]), Contains("'x' float32[2, ?] has values of another type"));
  CHECK_THAT(refusal(texts({"a", "b"}), kFields[3]), Contains("has several texts"));
  CHECK_THAT(refusal(texts({}), kFields[3]), Contains("has no text"));
  CHECK_THROWS_WITH(rows_of_example(example({}), {kFields[1]}),
                    Contains("row 0 of '") && Contains("one': the field 'n' int64[] has not been set"));
  CHECK_THROWS_WITH(decode_example({{"h", DType::float16}}), Contains("no feature has the dtype of 'h' float16[]"));
  CHECK_THROWS_WITH(decode_example({{"x", DType::float32, {RowField::kVaries, RowField::kVaries}}}),
                    Contains("several sizes"));
}

TEST_CASE("a damaged example is an error, or gives other values", "[pipeline]") {
  const auto message = example({{"n", integers({300})}, {"small", integers({1, 2, 3})}});
  int refused = 0;
  for (std::size_t byte = 0; byte < message.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      auto damaged = message;
      damaged[byte] = static_cast<char>(damaged[byte] ^ 1 << bit);
      try {
        const auto rows = rows_of_example(damaged, {kFields[1], kFields[2]}).size();
        CHECK(rows == 1);
      } catch (const Error&) {
        ++refused;
      }
    }
  CHECK(refused > 100);
  for (std::size_t bytes = 1; bytes < message.size(); ++bytes)
    CHECK_THROWS_AS(rows_of_example(message.substr(0, bytes), {kFields[1], kFields[2]}), Error);
}

}  // namespace troupe::ops_test
