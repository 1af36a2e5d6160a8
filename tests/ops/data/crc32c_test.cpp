#include "troupe/ops/data/crc32c.hpp"

#include <numeric>
#include <vector>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

TEST_CASE("crc32c gives the checksums of RFC 3720", "[crc32c]") {
  const auto of = [](const std::vector<unsigned char>& bytes) { return crc32c(std::as_bytes(std::span(bytes))); };
  std::vector<unsigned char> ascending(32), descending(32);
  std::iota(ascending.begin(), ascending.end(), 0);
  std::iota(descending.rbegin(), descending.rend(), 0);
  CHECK(of(std::vector<unsigned char>(32, 0x00)) == 0x8A9136AA);
  CHECK(of(std::vector<unsigned char>(32, 0xFF)) == 0x62A8AB43);
  CHECK(of(ascending) == 0x46DD794E);
  CHECK(of(descending) == 0x113FDB5C);
  CHECK(of({}) == 0);
  // The well-known check value, of a number of bytes that is no multiple of eight.
  CHECK(of({'1', '2', '3', '4', '5', '6', '7', '8', '9'}) == 0xE3069283);
}

}  // namespace troupe::ops_test
