#include "troupe/transport/sha256.hpp"

#include <string>
#include <string_view>

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string hex(const Digest& digest) {
  std::string text;
  for (const auto byte : digest) {
    text += "0123456789abcdef"[std::to_integer<int>(byte) / 16];
    text += "0123456789abcdef"[std::to_integer<int>(byte) % 16];
  }
  return text;
}

}  // namespace

TEST_CASE("SHA-256 has the digests of FIPS 180-4") {
  CHECK(hex(sha256(bytes_of(""))) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256(bytes_of("abc"))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(sha256(bytes_of(std::string(1'000'000, 'a')))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("HMAC-SHA-256 has the digests of RFC 4231") {
  CHECK(hex(hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"))) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const std::string long_key(131, '\xAA');
  CHECK(hex(hmac_sha256(bytes_of(long_key), bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"))) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("bytes are equal if no byte and not their number differs") {
  CHECK(equal_in_constant_time(bytes_of("abc"), bytes_of("abc")));
  CHECK_FALSE(equal_in_constant_time(bytes_of("abc"), bytes_of("abd")));
  CHECK_FALSE(equal_in_constant_time(bytes_of("abc"), bytes_of("ab")));
}
