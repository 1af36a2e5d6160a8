#include "troupe/transport/membership/agreement.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("texts are compared line by line") {
  CHECK(first_difference("a\nb", 0, "a\nb", 1).empty());
  CHECK(first_difference("a\nb", 0, "a\nc", 1) == "'c' on rank 1 but 'b' on rank 0");
  CHECK(first_difference("a", 0, "a\nc", 1) == "'c' on rank 1 but nothing more on rank 0");
}
