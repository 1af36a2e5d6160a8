#include "troupe/ops/data/gunzip.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>

#include "troupe/ops/data/idx_file.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"

namespace troupe::ops_test {

namespace {

/// Bytes of which some repeat, so that deflate uses copies as well as literals.
Bytes mixed_bytes(std::size_t count) {
  std::mt19937 random(7);
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = random() % 4 != 0 && i > 300 ? bytes[i - 1 - random() % 300] : static_cast<std::uint8_t>(random());
  return bytes;
}

/// The gzipped form of bytes.
Bytes member_of(const Bytes& bytes) {
  const TemporaryDirectory directory;
  write_gzip(directory / "member", bytes);
  return read_all(directory / "member");
}

/// The result of gunzip() for a file with these bytes.
bool gunzips(const Bytes& file, Bytes& to) {
  const TemporaryDirectory directory;
  write_plain(directory / "file", file);
  return gunzip(directory / "file", std::as_writable_bytes(std::span(to)));
}

Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

TEST_CASE("a file of one member is decompressed at once", "[gunzip]") {
  for (const std::size_t size : {std::size_t{1}, std::size_t{300}, std::size_t{70'000}, std::size_t{3'000'000}}) {
    const auto bytes = mixed_bytes(size);
    Bytes got(size);
    CHECK(gunzips(member_of(bytes), got));
    CHECK(got == bytes);
  }
}

TEST_CASE("other files are left to a stream", "[gunzip]") {
  const auto bytes = mixed_bytes(1'000);
  const auto member = member_of(bytes);
  Bytes got(bytes.size()), smaller(bytes.size() - 1), larger(bytes.size() + 1), twice(2 * bytes.size());
  CHECK_FALSE(gunzips(member, smaller));
  CHECK_FALSE(gunzips(member, larger));
  CHECK_FALSE(gunzips(joined(member, member), twice));
  CHECK_FALSE(gunzips(joined(member, member), got));
  CHECK_FALSE(gunzips(joined(member, Bytes(10, 0)), got));
  CHECK_FALSE(gunzips(bytes, got));
  CHECK_FALSE(gunzips({}, got));
  const TemporaryDirectory directory;
  CHECK_FALSE(gunzip(directory / "missing", std::as_writable_bytes(std::span(got))));
}

TEST_CASE("gunzip takes no damaged file", "[gunzip]") {
  const auto bytes = mixed_bytes(600);
  const auto whole = member_of(bytes);
  Bytes got(bytes.size());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size << " of " << whole.size() << " bytes");
    CHECK_FALSE(gunzips(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), got));
  }
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto damaged = whole;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1U << (bit % 8)));
    INFO("bit " << bit);
    std::fill(got.begin(), got.end(), std::uint8_t{0});
    if (gunzips(damaged, got)) CHECK(got == bytes);
  }
}

TEST_CASE("an idx file may be cut into members anywhere", "[gunzip][idx]") {
  const auto elements = mixed_bytes(24);
  const auto whole = idx_bytes({2, 3, 4}, elements);
  const TemporaryDirectory directory;
  const auto path = directory / "file.gz";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const auto border = whole.begin() + static_cast<std::ptrdiff_t>(cut);
    auto file = member_of(Bytes(whole.begin(), border));
    if (cut < whole.size()) file = joined(file, member_of(Bytes(border, whole.end())));
    write_plain(path, file);
    const auto tensor = read_idx(path, 3);
    INFO("cut at " << cut);
    REQUIRE(tensor.shape() == Shape{2, 3, 4});
    CHECK(std::memcmp(tensor.raw(), elements.data(), elements.size()) == 0);
  }
}

}  // namespace troupe::ops_test
