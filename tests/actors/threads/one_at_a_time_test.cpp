#include "troupe/actors/threads/one_at_a_time.hpp"

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("a call from within has the function run once more, not inside itself") {
  OneAtATime once;
  int depth = 0, deepest = 0, runs = 0;
  const std::function<void()> function = [&] {
    deepest = std::max(deepest, ++depth);
    if (++runs < 5) once.call(function);
    --depth;
  };
  once.call(function);
  CHECK(deepest == 1);
  CHECK(runs == 5);
}

TEST_CASE("on many threads it runs on one at a time, and after the last call once more") {
  OneAtATime once;
  std::atomic<int> inside{0}, wanted{0};
  int seen = 0, overlaps = 0;
  const auto function = [&] {
    overlaps += inside.fetch_add(1) > 0 ? 1 : 0;
    seen = wanted.load();
    --inside;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int call = 0; call < 1'000; ++call) {
        ++wanted;
        once.call(function);
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(overlaps == 0);
  CHECK(seen == 4'000);
}
