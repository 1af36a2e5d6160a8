#include "troupe/transport/membership/membership.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/transport/observed_link.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A process is lost after 20 heartbeats that do not come.
MembershipOptions options_with(std::chrono::milliseconds limit) {
  MembershipOptions options{.interval = limit / 20, .limit = limit};
  options.describe = [](int rank) { return "process " + std::to_string(rank); };
  return options;
}

/// The value once it is there, or nothing.
template <class Value>
std::optional<Value> value_of(std::promise<Value>& promise) {
  auto future = promise.get_future();
  if (future.wait_for(patience()) != std::future_status::ready) return std::nullopt;
  return future.get();
}

/// The first rank that a process gives up, or with which it loses the job.
class FirstLoss {
 public:
  void tell(int rank) {
    std::call_once(once_, [&] { told_.set_value(rank); });
  }
  void listen_to(Membership& membership) { membership.on_lost(on_lost_); }
  std::optional<int> rank() { return value_of(told_); }

 private:
  std::once_flag once_;
  std::promise<int> told_;
  std::shared_ptr<const Membership::OnLost> on_lost_ =
      std::make_shared<const Membership::OnLost>([this](const FailurePtr& failure) { tell(failure->rank); });
};

/// Counts the heartbeats of a process, for a thread that waits for some of them.
class Beats {
 public:
  void note() {
    std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void wait_for_more(std::int64_t more) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience(), [this, due = count_ + more] { return count_ >= due; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t count_ = 0;
};

/// A link that calls a function before it sends a heartbeat.
std::shared_ptr<Link> on_each_beat(std::shared_ptr<Link> link, std::function<void()> on_beat) {
  return std::make_shared<ObservedLink>(std::move(link), [on_beat = std::move(on_beat)](const Frame& frame) {
    // Message 0 of a member is a heartbeat.
    if (frame.header.edge == 0) on_beat();
  });
}

/// A link that keeps its callback after it was unset, as a link does whose callback is running at that moment.
class CallbackLink final : public Link {
 public:
  bool send(const Frame&) override { return true; }
  std::optional<IncomingFrame> receive() override { return std::nullopt; }
  void on_ready(OnReady callback) override {
    if (callback) callback_ = std::move(callback);
  }
  void close() override {}
  FailurePtr failure() const override { return nullptr; }

  void call_back() const { callback_(); }

 private:
  OnReady callback_;
};

/// Process 2 is silent, expendable and given up by processes 0 and 1, then wakes up. Returns what is wrong.
std::string lose_silent_process(std::chrono::milliseconds limit) {
  const auto [to_quick, quick] = make_memory_link();
  const auto [to_silent, silent] = make_memory_link();
  FirstLoss here, there;
  auto options = options_with(limit), others = options;
  options.on_gone = [&](int rank, const FailurePtr&) { here.tell(rank); };
  others.rank = 1;
  others.on_gone = [&](int rank, const FailurePtr&) { there.tell(rank); };
  Membership first(options, {{1, to_quick}, {2, to_silent}});
  first.set_expendable({2});
  Membership second(others, {{0, quick}});
  second.set_expendable({2});
  here.listen_to(first);
  there.listen_to(second);
  if (here.rank() != 2 || there.rank() != 2) return "process 2 is not given up by both others";
  // It reads its mail, and finds that it is out.
  others.rank = 2;
  std::promise<FailurePtr> told;
  const auto on_lost = std::make_shared<const Membership::OnLost>([&](const FailurePtr& why) { told.set_value(why); });
  Membership third(others, {{0, silent}});
  third.set_expendable({2});
  third.on_lost(on_lost);
  const auto lost = value_of(told);
  if (!lost || (*lost)->rank != 2) return "process 2 does not learn that it is given up";
  // The others leave without it.
  auto leaving = std::async(std::launch::async, [&] { second.leave(patience()); });
  try {
    first.leave(patience());
    leaving.get();
  } catch (const std::exception& error) {
    return error.what();
  }
  // It counts as gone once all here have been told, which comes before the watch takes in that the others leave.
  return first.gone(2) && !first.gone(1) && first.lost() == nullptr ? "" : "process 2 is not the only one that is gone";
}

}  // namespace

TEST_CASE("a silent process is lost by name; one across a network has longer for its first sign of life") {
  const auto [to_far, far] = make_memory_link();
  const auto [to_near, near] = make_memory_link();
  auto options = options_with(std::chrono::milliseconds(200));
  options.is_far = [](int rank) { return rank == 1; };
  options.describe = [](int rank) { return "process " + std::to_string(rank) + " (of a test)"; };
  std::promise<FailurePtr> told;
  const auto on_lost =
      std::make_shared<const Membership::OnLost>([&](const FailurePtr& failure) { told.set_value(failure); });
  Membership membership(options, {{1, to_far}, {2, to_near}});
  membership.on_lost(on_lost);
  const auto failure = value_of(told);
  REQUIRE(failure);
  CHECK((*failure)->rank == 2);
  CHECK((*failure)->kind == FailureKind::part_died);
  CHECK_THAT((*failure)->what, Contains("process 2 (of a test) has shown no sign of life for "));
}

TEST_CASE("silence is counted in heartbeats of the process that waits, however late its thread runs") {
  const auto [to_silent, silent] = make_memory_link();
  const auto [to_other, other] = make_memory_link();
  const auto options = options_with(std::chrono::milliseconds(40));
  Beats on_time;
  std::promise<void> listening;
  const auto listens = listening.get_future().share();
  std::int64_t beats = 0;
  // The watching thread sends each beat four beats late. It waits for the callback, which reads the beats.
  const auto late = on_each_beat(to_silent, [&] {
    listens.wait_for(patience());
    on_time.wait_for_more(4);
    ++beats;
  });
  std::promise<std::int64_t> told;
  const auto on_lost = std::make_shared<const Membership::OnLost>([&](const FailurePtr&) { told.set_value(beats); });
  const Membership punctual(options, {{1, on_each_beat(to_other, [&] { on_time.note(); })}});
  Membership membership(options, {{1, late}});
  membership.on_lost(on_lost);
  listening.set_value();
  CHECK(value_of(told).value_or(0) == 21);
}

TEST_CASE("an interval of heartbeats that is not positive is refused") {
  CHECK_THROWS_WITH(Membership({.interval = std::chrono::milliseconds(0)}, {}),
                    "[cluster] the interval of heartbeats is not positive");
}

TEST_CASE("a callback of a link that still runs after the end of a membership does not use its memory") {
  const auto link = std::make_shared<CallbackLink>();
  alignas(Membership) std::array<std::byte, sizeof(Membership)> memory;
  auto* const membership = new (memory.data()) Membership(options_with(patience()), {{1, link}});
  std::destroy_at(membership);
  // A mutex and a condition variable of zeros can be used, so a callback that used the memory would write to it.
  memory.fill(std::byte{0});
  link->call_back();
  CHECK(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("a rank that reports a failed link to another rank makes it lost to all") {
  const auto [to_first, first_end] = make_memory_link();
  const auto [to_second, second_end] = make_memory_link();
  FirstLoss at_zero, at_second;
  auto options = options_with(patience());
  Membership zero(options, {{1, to_first}, {2, to_second}});
  options.rank = 1;
  const Membership first(options, {{0, first_end}});
  options.rank = 2;
  Membership second(options, {{0, second_end}});
  at_zero.listen_to(zero);
  at_second.listen_to(second);
  second.link_failed(1, std::make_shared<Failure>(Failure{.what = "[link] broke"}));
  CHECK(at_second.rank() == 1);
  CHECK(at_zero.rank() == 1);
  CHECK_THAT(zero.lost()->what, Contains("process 1 has died or was cut off: [link] broke"));
}

TEST_CASE("a failed link to a rank is not its loss while rank 0 is silent: the rank may have ended because of that") {
  const auto [to_second, second_end] = make_memory_link();
  FirstLoss at_second;
  // Rank 0 sends no heartbeats. The report is handled before the limit of silence, which is 20 heartbeats.
  auto options = options_with(std::chrono::milliseconds(400));
  options.rank = 2;
  std::atomic<int> beats{0};
  std::promise<void> reported;
  const auto has_reported = reported.get_future().share();
  const auto link = on_each_beat(second_end, [&] {
    if (++beats == 10) has_reported.wait_for(patience());
  });
  Membership second(options, {{0, link}});
  at_second.listen_to(second);
  CHECK(eventually([&] { return beats == 10; }));
  second.link_failed(1, std::make_shared<Failure>(Failure{.what = "[link] broke"}));
  reported.set_value();
  CHECK(at_second.rank() == 0);
}

TEST_CASE("an expendable rank that loses its link to another rank is gone, and the others go on") {
  const auto [to_first, first_end] = make_memory_link();
  const auto [to_second, second_end] = make_memory_link();
  FirstLoss at_zero, at_second;
  auto options = options_with(patience());
  options.on_gone = [&](int rank, const FailurePtr&) { at_zero.tell(rank); };
  Membership zero(options, {{1, to_first}, {2, to_second}});
  options.on_gone = {};
  options.rank = 1;
  Membership first(options, {{0, first_end}});
  options.rank = 2;
  Membership second(options, {{0, second_end}});
  for (auto* member : {&zero, &first, &second}) member->set_expendable({2});
  at_zero.listen_to(zero);
  at_second.listen_to(second);
  second.link_failed(1, std::make_shared<Failure>(Failure{.what = "[link] broke"}));
  CHECK(at_second.rank() == 1);
  CHECK(at_zero.rank() == 2);
  CHECK(zero.lost() == nullptr);
}

TEST_CASE("without an expendable process the others go on, and it learns that it was given up") {
  CHECK(keeps_promise(std::chrono::milliseconds(200), lose_silent_process) == "");
}
