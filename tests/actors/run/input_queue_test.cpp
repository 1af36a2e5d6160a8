#include "troupe/actors/run/input_queue.hpp"

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

TEST_CASE("a token that is sent again comes before those of later steps") {
  InputQueue queue(3);
  queue.push({.slot = 9});
  queue.pop();
  queue.push({.slot = 1, .step = 6});
  queue.push({.slot = 2, .step = 7});
  queue.push({.slot = 0, .step = 5});
  for (std::uint32_t slot : {0U, 1U, 2U}) CHECK(queue.pop().slot == slot);
}
