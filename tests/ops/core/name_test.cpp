#include "troupe/ops/core/name.hpp"

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

std::string refusal_of(const std::string& name) {
  return error_of([&] { expect_name("graph", "a parameter", name); });
}

}  // namespace

TEST_CASE("names of letters, signs and other languages are accepted", "[name]") {
  for (const auto* name : {"w", "conv1.weights", "two words", "w/velocity", "größe", "权重", "\xf0\x9f\x8e\xad"})
    CHECK(refusal_of(name).empty());
  CHECK(refusal_of(std::string(1'024, 'w')).empty());
}

TEST_CASE("names that a file or a report cannot hold are refused with the reason", "[name][errors]") {
  CHECK(refusal_of("") == "[graph] a parameter needs a name");
  CHECK(refusal_of("a\nb") ==
        "[graph] the name 'a.b' of a parameter has the character 0x0a at position 1; control characters, quotation "
        "marks and backslashes are not possible");
  CHECK(contains(refusal_of(std::string("a\0b", 3)), "has the character 0x00 at position 1"));
  CHECK(contains(refusal_of("a\x1b[31m"), "the name 'a.[31m' of a parameter has the character 0x1b"));
  CHECK(contains(refusal_of("a\"b"), "has the character 0x22"));
  CHECK(contains(refusal_of("a\\b"), "has the character 0x5c"));
  CHECK(contains(refusal_of(std::string(1 << 20, 'w')), "...' of a parameter has 1048576 bytes; at most 1024"));
  CHECK(refusal_of(std::string(1 << 20, 'w')).size() < 200);
}

TEST_CASE("names that are not valid UTF-8 are refused", "[name][errors]") {
  // A stray byte, a cut character, an overlong slash, a surrogate, and a number above the last character.
  for (const auto* name : {"\xff", "\x80", "a\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    CHECK(contains(refusal_of(name), "is not valid UTF-8"));
}

}  // namespace troupe::ops_test
