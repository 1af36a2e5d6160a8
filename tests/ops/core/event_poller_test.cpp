#include "troupe/ops/core/event_poller.hpp"

#include <atomic>
#include <future>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"

namespace troupe::ops_test {

namespace {

/// An event without callbacks, which must be polled.
class SilentEvent final : public Event::State {
 public:
  bool done() const override { return done_; }
  std::exception_ptr error() const override { return nullptr; }
  bool wait_for(std::chrono::nanoseconds) override { return done_; }
  void notify(std::function<void()>) override {}

  void complete() { done_ = true; }

 private:
  std::atomic<bool> done_{false};
};

}  // namespace

TEST_CASE("a poller calls back once for every event, in any order of completion", "[event poller]") {
  constexpr int kEvents = 50;
  std::atomic<int> calls{0};
  std::promise<void> all_called;
  std::vector<std::shared_ptr<SilentEvent>> events;
  EventPoller poller;
  for (int i = 0; i < kEvents; ++i) {
    events.push_back(std::make_shared<SilentEvent>());
    poller.watch(events.back(), [&] {
      if (++calls == kEvents) all_called.set_value();
    });
  }
  for (int i = 0; i < kEvents; ++i) events[static_cast<std::size_t>(i * 7 % kEvents)]->complete();
  REQUIRE(all_called.get_future().wait_for(testing::patience()) == std::future_status::ready);
  CHECK(calls == kEvents);
}

TEST_CASE("all callbacks of an event are called, in the order in which they were added", "[event poller]") {
  const auto event = std::make_shared<SilentEvent>();
  std::vector<int> order;
  std::promise<void> last_called;
  EventPoller poller;
  for (int i = 0; i < 3; ++i) poller.watch(event, [&order, i] { order.push_back(i); });
  poller.watch(event, [&] { last_called.set_value(); });
  event->complete();
  REQUIRE(last_called.get_future().wait_for(testing::patience()) == std::future_status::ready);
  CHECK(order == std::vector{0, 1, 2});
}

TEST_CASE("a callback comes only when its event is done", "[event poller]") {
  const auto early = std::make_shared<SilentEvent>(), late = std::make_shared<SilentEvent>();
  std::promise<void> early_called, late_called;
  std::atomic<bool> late_is_done{false}, too_early{false};
  EventPoller poller;
  poller.watch(late, [&] {
    too_early = !late_is_done;
    late_called.set_value();
  });
  poller.watch(early, [&] { early_called.set_value(); });
  early->complete();
  REQUIRE(early_called.get_future().wait_for(testing::patience()) == std::future_status::ready);
  late_is_done = true;
  late->complete();
  REQUIRE(late_called.get_future().wait_for(testing::patience()) == std::future_status::ready);
  CHECK_FALSE(too_early);
}

TEST_CASE("a poller ends while events are not done, and drops their callbacks", "[event poller]") {
  const auto held = std::make_shared<int>(0);
  {
    EventPoller poller;
    poller.watch(std::make_shared<SilentEvent>(), [held] {});
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("a poller that has ended makes no callback", "[event poller]") {
  const auto held = std::make_shared<int>(0);
  const auto event = std::make_shared<SilentEvent>();
  bool called = false;
  EventPoller poller;
  poller.watch(event, [&] { called = true; });
  CHECK(poller.end(testing::patience()));
  event->complete();
  poller.watch(event, [&called, held] { called = true; });
  CHECK(held.use_count() == 1);
  CHECK(poller.end(testing::patience()));
  CHECK_FALSE(called);
}

TEST_CASE("the end of a poller does not wait longer than its limit for a callback", "[event poller]") {
  std::promise<void> begun, may_return;
  const auto event = std::make_shared<SilentEvent>();
  event->complete();
  EventPoller poller;
  poller.watch(event, [&] {
    begun.set_value();
    may_return.get_future().wait();
  });
  REQUIRE(begun.get_future().wait_for(testing::patience()) == std::future_status::ready);
  CHECK_FALSE(poller.end(std::chrono::milliseconds(1)));
  may_return.set_value();
  CHECK(poller.end(testing::patience()));
}

}  // namespace troupe::ops_test
