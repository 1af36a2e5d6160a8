#include "troupe/ops/data/npy_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

/// The bytes of a file that numpy.save writes, in version 1 of the format.
Bytes npy_bytes(const std::string& header, const void* elements, std::size_t bytes) {
  const std::string start("\x93NUMPY\x01\x00", 8);
  const std::string size{static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  const auto text = start + size + header + std::string(static_cast<const char*>(elements), bytes);
  return {text.begin(), text.end()};
}

std::string header_of(const std::string& type, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }          \n";
}

Tensor read(const Bytes& bytes) {
  const TemporaryDirectory directory;
  write_plain(directory / "array.npy", bytes);
  return read_npy(directory / "array.npy");
}

template <class T>
Tensor read(const std::string& type, const std::string& shape, const std::vector<T>& elements) {
  return read(npy_bytes(header_of(type, shape), elements.data(), elements.size() * sizeof(T)));
}

std::string refusal(const Bytes& bytes) {
  return error_of([&] { read(bytes); });
}

}  // namespace

TEST_CASE("arrays of numpy are read in any dtype and shape", "[npy]") {
  const auto floats = read<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  CHECK(floats.shape() == Shape{2, 3});
  CHECK(floats.data<float>()[5] == 6.0F);
  CHECK(read<double>("<f8", "(2,)", {0.5, -1.0}).data<float>()[1] == -1.0F);
  CHECK(read<std::int32_t>("<i4", "(1,)", {-7}).data<std::int32_t>()[0] == -7);
  CHECK(read<std::int64_t>("<i8", "()", {1LL << 40}).item<std::int64_t>() == 1LL << 40);
  CHECK(read<std::uint8_t>("|b1", "(2, 1)", {1, 0}).data<std::uint8_t>()[0] == 1);
  CHECK(read<float>("<f4", "(0, 5)", {}).shape() == Shape{0, 5});
}

TEST_CASE("other integer types and float16 of numpy become the next dtype that holds them", "[npy]") {
  CHECK(read<std::int8_t>("|i1", "(1,)", {-7}).data<std::int32_t>()[0] == -7);
  CHECK(read<std::int16_t>("<i2", "(1,)", {-300}).data<std::int32_t>()[0] == -300);
  CHECK(read<std::uint16_t>("<u2", "(1,)", {60'000}).data<std::int32_t>()[0] == 60'000);
  CHECK(read<std::uint32_t>("<u4", "(1,)", {4'000'000'000}).data<std::int64_t>()[0] == 4'000'000'000);
  CHECK(read<std::uint16_t>("<f2", "(1,)", {0xC100}).data<float>()[0] == -2.5F);
}

TEST_CASE("big-endian arrays of numpy are read", "[npy]") {
  CHECK(read<std::uint8_t>(">i2", "(2,)", {1, 2, 0xFF, 0xFE}).data<std::int32_t>()[0] == 258);
  CHECK(read<std::uint8_t>(">i2", "(2,)", {1, 2, 0xFF, 0xFE}).data<std::int32_t>()[1] == -2);
  CHECK(read<std::uint8_t>(">f4", "(1,)", {0x40, 0x20, 0, 0}).data<float>()[0] == 2.5F);
}

TEST_CASE("arrays of numpy in Fortran order are read in C order", "[npy]") {
  const std::vector<float> columns{1, 4, 2, 5, 3, 6};
  const auto matrix = read(npy_bytes(header_of("<f4", "(2, 3)", "True"), columns.data(), 24));
  CHECK(std::ranges::equal(matrix.data<float>(), std::vector<float>{1, 2, 3, 4, 5, 6}));
  // Element (i, j, k) is 100 i + 10 j + k.
  const std::vector<std::uint8_t> cube{0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121};
  CHECK(std::ranges::equal(read(npy_bytes(header_of("|u1", "(2, 3, 2)", "True"), cube.data(), 12)).data<std::uint8_t>(),
                           std::vector<std::uint8_t>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
}

TEST_CASE("a float64 outside the range of float32 is refused", "[npy][errors]") {
  const double large[] = {1.0, -1e300}, infinite[] = {std::numeric_limits<double>::infinity(), 3.4028235e38};
  CHECK(contains(refusal(npy_bytes(header_of("<f8", "(2,)"), large, 16)), "has -1e+300 as element 1"));
  const auto read_back = read(npy_bytes(header_of("<f8", "(2,)"), infinite, 16));
  CHECK(std::isinf(read_back.data<float>()[0]));
  CHECK(read_back.data<float>()[1] == std::numeric_limits<float>::max());
}

TEST_CASE("headers that Python would not read are refused", "[npy][errors]") {
  const float one[] = {1.0F};
  const auto refused = [&](const std::string& header) { return refusal(npy_bytes(header, one, 4)); };
  const std::string order = "'fortran_order': False, ";
  CHECK(refused("{\"descr\":'<f4' , 'shape':( 1 ,) ,'fortran_order' : False}").empty());
  CHECK(contains(refused("{'descr': '<f4'x, " + order + "'shape': (1,), }"), "a broken header at 'x, 'fortran"));
  CHECK(contains(refused("{'descr': '<f4', " + order + "'shape': (1 1), }"), "a broken shape"));
  CHECK(contains(refused("{'descr': '<f4', " + order + "'shape': (1), }"), "a broken shape"));
  CHECK(contains(refused("{'descr': '<f4', " + order + "'shape': (1,,), }"), "a broken shape"));
  CHECK(contains(refused("{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (1,), }"), "a broken header"));
  CHECK(contains(refused("{'descr': '<f4' " + order + "'shape': (1,), }"), "a broken header"));
  CHECK(contains(refused("{'descr': '<f4', " + order + "'shape': (1,), } x"), "a broken header at 'x'"));
  CHECK(contains(refused("{'descr': '<f4', 'descr': '<f4', " + order + "'shape': (1,), }"), "repeated 'descr'"));
  CHECK(contains(refused("{'more': '<f4', 'descr': '<f4', " + order + "'shape': (1,), }"), "an unknown"));
  CHECK(contains(refused("{'descr': [('a', '<f4')], " + order + "'shape': (1,), }"), "has records as elements"));
  CHECK(contains(refused("{'descr': '|f4', " + order + "'shape': (1,), }"), "elements of another type: '|f4'"));
}

TEST_CASE("damaged and foreign arrays are refused", "[npy][errors]") {
  const float two[] = {1.0F, 2.0F};
  const auto good = npy_bytes(header_of("<f4", "(2,)"), two, 8);
  CHECK(contains(error_of([] { read_npy("/nowhere.npy"); }), "[npy] '/nowhere.npy' does not exist"));
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(refusal(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))).empty());
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(3,)"), two, 8)), "holds 8 bytes"));
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(1,)"), two, 8)), "holds more than 4 bytes"));
  CHECK(contains(refusal(npy_bytes(header_of("<c8", "(1,)"), two, 8)), "elements of another type: '<c8'"));
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(-2,)"), two, 8)), "a broken shape"));
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(99999999999, 99999999999)"), two, 8)), "memory"));
  CHECK(contains(refusal(npy_bytes("{}", two, 8)), "has no 'descr'"));
}

}  // namespace troupe::ops_test
