#include "troupe/ops/data/safetensors.hpp"

#include <cstring>
#include <limits>

#include "troupe/ops/core/half.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

/// A file of the library safetensors 0.6 for Python: save_file() of arrays with these names, and {"format": "pt"}.
const std::string kHeaderOfLibrary =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
    R"("b.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[16,32]},)"
    R"("none":{"dtype":"F32","shape":[0,3],"data_offsets":[32,32]},)"
    R"("one":{"dtype":"I32","shape":[],"data_offsets":[32,36]},)"
    R"("half":{"dtype":"F16","shape":[2],"data_offsets":[36,40]},)"
    R"("byte":{"dtype":"U8","shape":[3],"data_offsets":[40,43]}}   )";
const Bytes kArraysOfLibrary{1,    0,    0, 0,    0,    0, 0, 0,    0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                             0xff, 0,    0, 0xc0, 0x3f, 0, 0, 0,    0xc0, 0,    0,    0x80, 0x3e, 0,    0,
                             0x40, 0x40, 4, 0,    0,    0, 0, 0x38, 0xff, 0x7b, 7,    0xff, 0};

Bytes file_bytes(const std::string& header, const Bytes& arrays) {
  Bytes bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::uint8_t>(std::uint64_t{header.size()} >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), arrays.begin(), arrays.end());
  return bytes;
}

Bytes file_of_library() {
  return file_bytes(kHeaderOfLibrary, kArraysOfLibrary);
}

NamedArrays arrays_of_library() {
  return {{"a", Tensor::from<std::int64_t>({2}, {1, -2})},
          {"b.weight", Tensor::from<float>({2, 2}, {1.5F, -2.0F, 0.25F, 3.0F})},
          {"none", Tensor({0, 3}, DType::float32)},
          {"one", Tensor::scalar<std::int32_t>(4)},
          {"half", Tensor::from<Float16>({2}, {Float16(0.5F), Float16(65504.0F)})},
          {"byte", Tensor::from<std::uint8_t>({3}, {7, 255, 0})}};
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

bool equal(const NamedArrays& a, const NamedArrays& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); });
}

NamedArrays arrays_in(const Bytes& bytes) {
  const TemporaryDirectory directory;
  write_plain(directory / "file", bytes);
  return read_safetensors(directory / "file");
}

std::string refusal_of(const Bytes& bytes) {
  return error_of([&] { arrays_in(bytes); });
}

/// The refusal of a file with one array, and `bytes` bytes behind its header.
std::string refusal_of_array(const std::string& description, std::size_t bytes) {
  return refusal_of(file_bytes(R"({"x":)" + description + "}", Bytes(bytes)));
}

}  // namespace

TEST_CASE("a file of the library safetensors is read and written byte for byte", "[safetensors]") {
  const TemporaryDirectory directory;
  const auto path = directory / "file";
  write_plain(path, file_of_library());
  CHECK(equal(read_safetensors(path), arrays_of_library()));
  const SafetensorsFile file(path);
  CHECK(file.metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(file.read("one").item<std::int32_t>() == 4);
  CHECK(contains(error_of([&] { file.read("two"); }), "has no array 'two'; it has 'a', 'b.weight', 'none', 'one'"));

  auto arrays = arrays_of_library();
  std::swap(arrays[0], arrays[4]);
  write_safetensors(directory / "again", arrays, {{"format", "pt"}});
  const auto again = read_all(directory / "again");
  REQUIRE(again.size() == file_of_library().size());
  CHECK(Bytes(again.end() - 43, again.end()) == kArraysOfLibrary);
  CHECK(equal(read_safetensors(directory / "again"), arrays_of_library()));
}

TEST_CASE("arrays of any dtype keep their bits", "[safetensors]") {
  const TemporaryDirectory directory;
  const NamedArrays arrays{{"wide", Tensor::from<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::min()})},
                           {"name \"with\" \u00e4", Tensor::from<float>({1, 1, 2}, {-0.0F, 1e-42F})},
                           {"brain", Tensor::from<BFloat16>({1}, {BFloat16(3.0F)})}};
  write_safetensors(directory / "file", arrays);
  CHECK(equal(read_safetensors(directory / "file"), arrays));
  write_safetensors(directory / "file", {});
  CHECK(read_safetensors(directory / "file").empty());
}

TEST_CASE("numbers of other types become those of a dtype that holds them", "[safetensors]") {
  const auto read_as = [](const std::string& type, auto number) {
    Bytes bytes(sizeof(number));
    std::memcpy(bytes.data(), &number, sizeof(number));
    const auto header =
        R"({"x":{"dtype":")" + type + R"(","shape":[1],"data_offsets":[0,)" + std::to_string(sizeof(number)) + "]}}";
    return arrays_in(file_bytes(header, bytes)).at(0).second;
  };
  CHECK(read_as("F64", -0.5).data<float>()[0] == -0.5F);
  CHECK(read_as("I8", std::int8_t{-7}).data<std::int32_t>()[0] == -7);
  CHECK(read_as("I16", std::int16_t{-300}).data<std::int32_t>()[0] == -300);
  CHECK(read_as("U16", std::uint16_t{60'000}).data<std::int32_t>()[0] == 60'000);
  CHECK(read_as("U32", std::uint32_t{4'000'000'000}).data<std::int64_t>()[0] == 4'000'000'000);
  CHECK(read_as("U64", std::uint64_t{1} << 62).data<std::int64_t>()[0] == std::int64_t{1} << 62);
  CHECK(read_as("BOOL", std::uint8_t{1}).data<std::uint8_t>()[0] == 1);
  CHECK(
      contains(error_of([&] { read_as("F64", 1e300); }), "'x' has 1e+300 as element 0, outside the range of float32"));
  CHECK(contains(error_of([&] { read_as("U64", ~std::uint64_t{0}); }), "outside the range of int64"));
}

TEST_CASE("a file with another header is refused", "[safetensors][errors]") {
  CHECK(contains(refusal_of({1, 2, 3}), "is truncated: it has no header"));
  CHECK(contains(refusal_of(Bytes(9, 0xff)), "is no safetensors file, or damaged"));
  CHECK(contains(refusal_of(file_bytes("", {})), "has a damaged header"));
  CHECK(contains(refusal_of(file_bytes("[]", {})), "is no object"));
  CHECK(contains(refusal_of(file_bytes("[[[[[[]]]]]]", {})), "too many levels"));
  CHECK(contains(refusal_of(file_bytes(R"({"x":1})", {})), "has a damaged header"));
  CHECK(contains(refusal_of(file_bytes(R"({"__metadata__":{"a":1}})", {})), "has a damaged header"));
  CHECK(contains(refusal_of_array(R"({"dtype":"F8","shape":[1],"data_offsets":[0,1]})", 1), "of another type: 'F8'"));
  CHECK(
      contains(refusal_of_array(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4), "does not take the bytes"));
  CHECK(
      contains(refusal_of_array(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8), "begins at byte 4, not 0"));
  CHECK(
      contains(refusal_of_array(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 5), "1 bytes behind its last"));
  CHECK(contains(refusal_of_array(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 3), "it ends within 'x'"));
  CHECK(contains(refusal_of_array(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4), "has -1 in place of"));
  CHECK(contains(refusal_of_array(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", 4), "has no two offsets"));
  for (const std::string shape : {"1", "null", "{}", "\"1\""})
    CHECK(contains(refusal_of_array(R"({"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,4]})", 4),
                   "has no shape of 'x'"));
  CHECK(contains(refusal_of_array(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})", 4),
                 "has 18446744073709551615 in place of a size"));
  const auto huge = std::to_string(std::numeric_limits<std::int64_t>::max());
  CHECK(contains(refusal_of_array(R"({"dtype":"F32","shape":[)" + huge + R"(],"data_offsets":[0,4]})", 4),
                 "damaged header"));
  const std::string x = R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  CHECK(contains(refusal_of(file_bytes("{" + x + "," + x + "}", {1})), "has 'x' twice"));
  CHECK(contains(error_of([] { read_safetensors("/nonexistent/file"); }), "[safetensors] '/nonexistent/file'"));
}

TEST_CASE("a safetensors file that is cut off is refused", "[safetensors][errors]") {
  const auto whole = file_of_library();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size << " of " << whole.size() << " bytes");
    CHECK(
        contains(refusal_of(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), "is truncated"));
  }
}

TEST_CASE("a safetensors file with a wrong bit in its header is refused, or has other names or types",
          "[safetensors]") {
  const auto whole = file_of_library();
  const auto expected = arrays_of_library();
  for (std::size_t bit = 0; bit < 8 * (8 + kHeaderOfLibrary.size()); ++bit) {
    auto damaged = whole;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1U << (bit % 8)));
    INFO("bit " << bit);
    NamedArrays got;
    if (!error_of([&] { got = arrays_in(damaged); }).empty()) continue;
    // The bit is in a name, in a text, or makes a type one of the same size.
    REQUIRE(got.size() >= expected.size() - 1);
    for (const auto& [name, array] : got) CHECK(array.elements() <= 4);
  }
}

TEST_CASE("arrays that no file can have are refused before a file is written", "[safetensors][errors]") {
  const TemporaryDirectory directory;
  const auto path = directory / "file";
  const auto one = Tensor::scalar(1.0F);
  const auto writing_error = [&](const NamedArrays& arrays) {
    return error_of([&] { write_safetensors(path, arrays); });
  };
  CHECK(contains(writing_error({{"x", one}, {"x", one}}), "has 'x' twice"));
  CHECK(contains(writing_error({{"__metadata__", one}}), "no array may have the name '__metadata__'"));
  CHECK(contains(writing_error({{"x", Tensor()}}), "'x' is an empty handle"));
  CHECK(contains(writing_error({{"\xff", one}}), "not in UTF-8"));
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(contains(error_of([&] { write_safetensors(directory / "missing/file", {}); }), "cannot be written"));
}

}  // namespace troupe::ops_test
