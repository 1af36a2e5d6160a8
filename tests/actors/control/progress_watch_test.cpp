#include "troupe/actors/control/progress_watch.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

constexpr std::chrono::milliseconds kLimit{100};

struct Watched {
  Watched() {
    for (auto* status : {&live, &dead}) {
      status->watched = true;
      status->finished = false;
    }
    live.name = "live";
    dead.name = "dead";
    watch.begin({&live, &dead});
  }
  std::optional<std::string> look(int milliseconds) {
    return watch.stalled(kLimit, start + std::chrono::milliseconds(milliseconds));
  }
  ExecutorStatus live, dead;
  ProgressWatch watch;
  ProgressWatch::Clock::time_point start = ProgressWatch::Clock::now();
};

}  // namespace

TEST_CASE("a live actor does not hide a dead one") {
  Watched watched;
  for (int time = 0; time <= 100; time += 10) {
    watched.live.count_firing();
    CHECK_FALSE(watched.look(time));
  }
  watched.live.count_firing();
  CHECK(watched.look(110) == "dead");
}

TEST_CASE("an actor whose run is over need not fire, nor one while another waits for the world outside") {
  Watched watched;
  CHECK_FALSE(watched.look(0));
  watched.dead.finished = true;
  watched.live.count_firing();
  CHECK_FALSE(watched.look(150));
  watched.dead.finished = false;
  CHECK_FALSE(watched.look(200));
  watched.live.waits_outside = true;
  CHECK_FALSE(watched.look(400));
  watched.live.waits_outside = false;
  CHECK(watched.look(501).has_value());
}

TEST_CASE("a run without watched executors in which no executor moves has stalled") {
  Watched watched;
  watched.live.watched = watched.dead.watched = false;
  CHECK_FALSE(watched.look(0));
  CHECK_FALSE(watched.look(100));
  CHECK(watched.look(101) == "live");
}

TEST_CASE("a stall without watched executors is that of the first one that has not finished") {
  Watched watched;
  watched.live.watched = watched.dead.watched = false;
  watched.live.finished = true;
  CHECK_FALSE(watched.look(0));
  CHECK(watched.look(101) == "dead");
  watched.dead.finished = true;
  CHECK_FALSE(watched.look(102));
  CHECK(watched.look(301) == "live");
}

TEST_CASE("a task counts from the first look that finds it running, not from the last progress of its executor") {
  Watched watched;
  const std::string task = "conductor0", other = "update0";
  const auto running_since = [&] {
    return std::chrono::round<std::chrono::milliseconds>(watched.watch.longest_running()->since - watched.start)
        .count();
  };
  watched.look(0);
  CHECK_FALSE(watched.watch.longest_running());
  watched.live.running = &task;
  watched.look(50);
  watched.look(60);
  CHECK(watched.watch.longest_running()->task == "conductor0");
  CHECK(running_since() == 50);
  watched.live.count_firing();
  watched.look(70);
  CHECK(running_since() == 70);
  watched.live.running = &other;
  watched.look(80);
  CHECK(watched.watch.longest_running()->task == "update0");
  CHECK(running_since() == 80);
}

TEST_CASE("a task that is continued now and then, because it waits, is not running all the time") {
  Watched watched;
  const std::string task = "sum0";
  watched.live.running = &task;
  watched.look(0);
  watched.look(10);
  watched.live.running = nullptr;
  watched.look(20);
  CHECK_FALSE(watched.watch.longest_running());
  watched.live.running = &task;
  watched.look(30);
  CHECK(watched.watch.longest_running()->since == watched.start + std::chrono::milliseconds(30));
}
