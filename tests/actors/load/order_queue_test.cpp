#include "troupe/actors/load/order_queue.hpp"

#include <atomic>
#include <future>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"

using namespace troupe;

TEST_CASE("callbacks run in the order in which they were added, those that a callback adds last") {
  OrderQueue queue;
  std::vector<int> done;
  queue.add([&] {
    done.push_back(1);
    queue.add([&] { done.push_back(3); });
    queue.run_all();
    queue.wait_until_run(std::chrono::seconds(1));  // does not wait in a callback
    done.push_back(2);
  });
  queue.run_all();
  CHECK(done == std::vector{1, 2, 3});
}

TEST_CASE("a callback that throws does not stop the others") {
  OrderQueue queue;
  int done = 0;
  queue.add([] { throw std::runtime_error("broken"); });
  queue.add([&] { ++done; });
  CHECK(queue.run_all());
  CHECK(done == 1);
  CHECK_FALSE(queue.run_all());
}

TEST_CASE("callbacks that another thread adds are run by the thread that is running, and waited for") {
  OrderQueue queue;
  std::promise<void> running, added;
  std::atomic<int> done{0};
  queue.add([&] {
    running.set_value();
    added.get_future().wait();
    ++done;
  });
  auto runner = std::async(std::launch::async, [&] { queue.run_all(); });
  running.get_future().wait();
  queue.add([&] { ++done; });
  queue.run_all();
  CHECK(done == 0);
  added.set_value();
  queue.wait_until_run(testing::patience());
  CHECK(done == 2);
  runner.get();
}
