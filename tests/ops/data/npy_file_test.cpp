#include "troupe/ops/data/npy_file.hpp"

#include <algorithm>
#include <cstring>

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

TEST_CASE("damaged and foreign arrays are refused", "[npy][errors]") {
  const float two[] = {1.0F, 2.0F};
  const auto good = npy_bytes(header_of("<f4", "(2,)"), two, 8);
  CHECK(contains(error_of([] { read_npy("/nowhere.npy"); }), "[npy] '/nowhere.npy' does not exist"));
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(refusal(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))).empty());
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(3,)"), two, 8)), "holds 8 bytes"));
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(1,)"), two, 8)), "holds 8 bytes"));
  CHECK(contains(refusal(npy_bytes(header_of("<f2", "(4,)"), two, 8)), "elements of another type"));
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(2,)", "True"), two, 8)), "Fortran"));
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(-2,)"), two, 8)), "a broken shape"));
  CHECK(contains(refusal(npy_bytes(header_of("<f4", "(99999999999, 99999999999)"), two, 8)), "memory"));
  CHECK(contains(refusal(npy_bytes("{}", two, 8)), "has no 'descr'"));
}

}  // namespace troupe::ops_test
