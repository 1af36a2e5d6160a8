#include "troupe/actors/load/order_queue.hpp"

#include <atomic>
#include <future>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"

using namespace troupe;

TEST_CASE("orders are said in the order in which they were added, those that come of saying one last") {
  OrderQueue queue;
  std::vector<int> said;
  queue.add([&] {
    said.push_back(1);
    queue.add([&] { said.push_back(3); });
    queue.say_all();
    queue.wait_until_said(std::chrono::seconds(1));  // in a call of its own it does not wait
    said.push_back(2);
  });
  queue.say_all();
  CHECK(said == std::vector{1, 2, 3});
}

TEST_CASE("an order that throws does not keep the others from being said") {
  OrderQueue queue;
  int said = 0;
  queue.add([] { throw std::runtime_error("broken"); });
  queue.add([&] { ++said; });
  CHECK(queue.say_all());
  CHECK(said == 1);
  CHECK_FALSE(queue.say_all());
}

TEST_CASE("what another thread adds while one speaks is said by the first, and waited for") {
  OrderQueue queue;
  std::promise<void> speaking, added;
  std::atomic<int> said{0};
  queue.add([&] {
    speaking.set_value();
    added.get_future().wait();
    ++said;
  });
  auto speaker = std::async(std::launch::async, [&] { queue.say_all(); });
  speaking.get_future().wait();
  queue.add([&] { ++said; });
  queue.say_all();
  CHECK(said == 0);
  added.set_value();
  queue.wait_until_said(testing::patience());
  CHECK(said == 2);
  speaker.get();
}
