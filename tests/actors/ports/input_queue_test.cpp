#include "troupe/actors/ports/input_queue.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("an input queue gives back in order of arrival and refuses more than its capacity") {
  InputQueue queue(2);
  CHECK(queue.empty());
  for (std::uint32_t i = 0; i < 3; ++i) {
    queue.push({.slot = 2 * i});
    queue.push({.slot = 2 * i + 1});
    CHECK_THROWS_AS(queue.push({.slot = 9}), Error);
    CHECK(queue.pop().slot == 2 * i);
    CHECK(queue.pop().slot == 2 * i + 1);
    CHECK(queue.empty());
  }
}
