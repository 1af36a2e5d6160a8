#include "troupe/actors/calls/call_board.hpp"

#include <map>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

using Handed = std::vector<std::pair<int, std::int64_t>>;

}  // namespace

TEST_CASE("calls go in their order to the worker with the fewest calls, as far as there is room") {
  CallBoard board(2);
  for (int i = 0; i < 6; ++i) CHECK(board.schedule() == i);
  CHECK(board.assign().empty());
  board.add_worker(7);
  CHECK(board.assign() == Handed{{7, 0}, {7, 1}});
  board.add_worker(8);
  CHECK(board.assign() == Handed{{8, 2}, {8, 3}});
  CHECK(board.complete(1));
  CHECK(board.assign() == Handed{{7, 4}});
  CHECK(board.open() == 5);
}

TEST_CASE("what a lost worker had goes to others first, and ends once") {
  CallBoard board(2);
  for (int i = 0; i < 4; ++i) board.schedule();
  board.add_worker(0);
  board.assign();
  board.lose_worker(0);
  CHECK(board.workers() == 0);
  board.add_worker(1);
  CHECK(board.assign() == Handed{{1, 0}, {1, 1}});
  // The one that was thought to be lost has sent this before.
  CHECK(board.complete(0));
  CHECK_FALSE(board.complete(0));
  CHECK(board.assign() == Handed{{1, 2}});
}

TEST_CASE("the first call that fails cancels the others, which then count no more") {
  CallBoard board(1);
  for (int i = 0; i < 4; ++i) board.schedule();
  board.add_worker(0);
  board.add_worker(1);
  board.assign();
  CHECK(board.complete(0));
  CHECK(board.fail(1) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(board.fail(2).empty());
  CHECK_FALSE(board.complete(3));
  CHECK(board.open() == 0);
  board.schedule();
  CHECK(board.assign() == Handed{{0, 4}});
}

TEST_CASE("a worker without room for a call is refused") {
  CHECK_THROWS_WITH(CallBoard(0), "[coordinator] a worker needs room for at least one call, not 0");
}

TEST_CASE("while workers are lost and join, every call ends once, and no worker has too many") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CallBoard board(static_cast<int>(1 + seed % 3));
    std::map<int, std::vector<std::int64_t>> at;  // what workers think that they have
    std::map<std::int64_t, int> ended;
    std::int64_t scheduled = 0;
    int next_worker = 0;
    std::uint64_t draws = 0;
    const auto draw = [&](std::uint64_t below) { return uniform_below(below, seed, 1, draws++); };
    while (scheduled < 40 || board.open() > 0) {
      const auto move = draw(10);
      if (move < 3 && scheduled < 40) {
        board.schedule();
        ++scheduled;
      } else if (move == 3 && at.size() < 4) {
        at[next_worker];
        board.add_worker(next_worker++);
      } else if (move == 4 && !at.empty()) {
        const auto lost = std::next(at.begin(), static_cast<std::ptrdiff_t>(draw(at.size())));
        board.lose_worker(lost->first);
        // Perhaps its last result is still on its way.
        if (draw(2) == 0 && !lost->second.empty() && board.complete(lost->second.front()))
          ++ended[lost->second.front()];
        at.erase(lost);
      } else if (!at.empty()) {
        const auto worker = std::next(at.begin(), static_cast<std::ptrdiff_t>(draw(at.size())));
        if (worker->second.empty()) continue;
        if (board.complete(worker->second.front())) ++ended[worker->second.front()];
        worker->second.erase(worker->second.begin());
      }
      for (const auto& [worker, call] : board.assign()) at.at(worker).push_back(call);
    }
    CHECK(ended.size() == 40);
    for (const auto& [call, times] : ended) CHECK(times == 1);
  }
}
