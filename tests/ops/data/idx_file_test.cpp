#include "troupe/ops/data/idx_file.hpp"

#include <algorithm>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

Bytes counting(std::size_t n) {
  Bytes bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(i * i + i / 256);
  return bytes;
}

std::string error_of_reading(const std::filesystem::path& file, std::size_t rank = 1) {
  return error_of([&] { read_idx(file, rank); });
}

/// The error of reading a gzipped file with these bytes.
std::string error_of_bytes(const Bytes& bytes, std::size_t rank = 1) {
  const TemporaryDirectory directory;
  write_gzip(directory / "file.gz", bytes);
  return error_of_reading(directory / "file.gz", rank);
}

Bytes first(const Bytes& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

TEST_CASE("gzipped and plain files are read alike", "[idx]") {
  const TemporaryDirectory directory;
  const auto elements = counting(3 * 5 * 7);
  write_gzip(directory / "file.gz", idx_bytes({3, 5, 7}, elements));
  write_plain(directory / "file", idx_bytes({3, 5, 7}, elements));
  for (const auto& name : {"file.gz", "file"}) {
    const auto tensor = read_idx(directory / name, 3);
    CHECK(tensor.shape() == Shape{3, 5, 7});
    CHECK(std::ranges::equal(tensor.data<std::uint8_t>(), elements));
  }
}

TEST_CASE("a file of several chunks is read whole", "[idx]") {
  const TemporaryDirectory directory;
  const auto elements = counting((std::size_t{5} << 19) + 1);
  write_gzip(directory / "file.gz", idx_bytes({static_cast<std::uint32_t>(elements.size())}, elements));
  CHECK(std::ranges::equal(read_idx(directory / "file.gz", 1).data<std::uint8_t>(), elements));
}

TEST_CASE("a file may hold nothing", "[idx]") {
  const TemporaryDirectory directory;
  write_gzip(directory / "file.gz", idx_bytes({0, 28, 28}, {}));
  CHECK(read_idx(directory / "file.gz", 3).shape() == Shape{0, 28, 28});
}

TEST_CASE("a file that does not exist is named", "[idx]") {
  const TemporaryDirectory directory;
  const auto path = directory / "missing.gz";
  CHECK(error_of_reading(path) == "[idx] '" + path.string() + "' does not exist or is no file");
  CHECK(contains(error_of_reading(directory.path()), "does not exist or is no file"));
}

TEST_CASE("compressed data that ends too early is truncated, wherever it ends", "[idx]") {
  const TemporaryDirectory directory;
  write_gzip(directory / "whole.gz", idx_bytes({1000}, counting(1000)));
  const auto whole = read_all(directory / "whole.gz");
  // The last eight bytes are the checksum and the length.
  for (const auto count : {std::size_t{11}, std::size_t{20}, whole.size() / 2, whole.size() - 8, whole.size() - 1}) {
    write_plain(directory / "part.gz", first(whole, count));
    INFO(count << " of " << whole.size() << " bytes");
    CHECK(contains(error_of_reading(directory / "part.gz"), "is truncated"));
  }
}

TEST_CASE("a file that holds fewer elements than it says is truncated", "[idx]") {
  const auto whole = idx_bytes({100}, counting(100));
  CHECK(contains(error_of_bytes(first(whole, 60)), "header claims [100], but only 52 bytes follow"));
  CHECK(contains(error_of_bytes(first(whole, 8)), "only 0 bytes follow"));
  CHECK(contains(error_of_bytes(first(whole, 7)), "ends within its header"));
  CHECK(contains(error_of_bytes({}), "ends within its header"));
}

TEST_CASE("a file that holds more than it says is refused", "[idx]") {
  CHECK(contains(error_of_bytes(idx_bytes({99}, counting(100))), "is longer than its header [99] says"));
}

TEST_CASE("damaged data is distinguished from truncated data", "[idx]") {
  const TemporaryDirectory directory;
  write_gzip(directory / "file.gz", idx_bytes({1000}, counting(1000)));
  auto bytes = read_all(directory / "file.gz");
  bytes[bytes.size() - 6] ^= 0xFF;  // in the checksum
  write_plain(directory / "file.gz", bytes);
  CHECK(contains(error_of_reading(directory / "file.gz"), "is damaged"));
}

TEST_CASE("a file that is no IDX file has the wrong magic number", "[idx]") {
  CHECK(contains(error_of_bytes(counting(1000)), "wrong magic number"));
  const TemporaryDirectory directory;
  write_plain(directory / "garbage.gz", counting(1000));
  CHECK(contains(error_of_reading(directory / "garbage.gz"), "wrong magic number"));
  auto floats = idx_bytes({4}, counting(16));
  floats[2] = 0x0D;
  CHECK(contains(error_of_bytes(floats), "wrong magic number 3329 where 2049 (unsigned bytes, 1 axes)"));
}

TEST_CASE("a file with another number of axes has the wrong magic number", "[idx]") {
  CHECK(contains(error_of_bytes(idx_bytes({4}, counting(4)), 3), "wrong magic number 2049 where 2051"));
}

TEST_CASE("a header that claims too much costs no memory", "[idx]") {
  const std::uint32_t all = 0xFFFFFFFF;
  cpu_allocator()->reset_peak();
  const auto before = cpu_allocator()->peak_bytes();
  CHECK(contains(error_of_bytes(idx_bytes({4000000000, 28, 28}, counting(100)), 3), "only 100 bytes follow"));
  CHECK(contains(error_of_bytes(idx_bytes({all, all, all}, counting(100)), 3), "more than memory can hold"));
  CHECK(cpu_allocator()->peak_bytes() == before);
}

}  // namespace troupe::ops_test
