#include "troupe/actors/caf/mail.hpp"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/system_messages.hpp>
#include <future>
#include <string>
#include <vector>

#include "troupe/actors/messages/messages.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

void run_all(const Runtime& runtime) {
  while (runtime.run_one()) continue;
}

/// Notes who sent what, and does what a test says when it is told to go on.
class Noter final : public caf::event_based_actor {
 public:
  using Act = std::function<void(Noter& self)>;

  Noter(caf::actor_config& config, std::vector<std::string>& notes, Act act)
      : caf::event_based_actor(config), notes_(notes), act_(std::move(act)) {}

  caf::behavior make_behavior() override {
    return {[this](const Continue&) { act_(*this); },
            [this](const Advance& advance) {
              notes_.push_back(std::to_string(advance.segment) + (current_sender() ? " of an actor" : ""));
            },
            [this](const Stop&) { quit(); }};
  }
  std::vector<std::string>& notes_;
  Act act_;
};

caf::actor spawn(const Runtime& runtime, std::vector<std::string>& notes, Noter::Act act = {}) {
  return caf::actor_cast<caf::actor>(runtime.system().spawn<Noter>(std::ref(notes), std::move(act)));
}

/// Ends an actor and drops the handle.
void end(const Runtime& runtime, const caf::actor& actor) {
  post(actor, Stop{});
  run_all(runtime);
}

}  // namespace

TEST_CASE("tell says who sent a message, post does not; urgent mail overtakes") {
  const auto runtime = scheduled_runtime(1);
  std::vector<std::string> notes;
  const auto receiver = spawn(runtime, notes);
  const auto sender = spawn(runtime, notes, [&](Noter& self) {
    tell(self, receiver, Advance{3});
    tell<caf::message_priority::high>(self, receiver, Advance{4});
    tell(self, caf::actor(), Advance{5});
  });
  run_all(runtime);
  const Advance kept{1};
  post(receiver, kept);
  post<caf::message_priority::high>(receiver, Advance{2});
  post(caf::actor(), Advance{5});
  run_all(runtime);
  CHECK(notes == std::vector<std::string>{"2", "1"});
  notes.clear();
  // The scheduler would run the receiver between two messages if it had another actor to choose.
  post(sender, Continue{});
  run_all(runtime);
  CHECK(notes == std::vector<std::string>{"4 of an actor", "3 of an actor"});
  end(runtime, sender);
  end(runtime, receiver);
}

TEST_CASE("a message that is posted with a delay arrives after it") {
  const Runtime runtime({.workers = 1, .cpu_devices = 1});
  std::promise<void> arrived;
  const auto receiver = runtime.system().spawn([&](caf::event_based_actor* self) -> caf::behavior {
    return {[&, self](const Advance&) {
      arrived.set_value();
      self->quit();
    }};
  });
  constexpr std::chrono::milliseconds kDelay{20};
  const auto begin = std::chrono::steady_clock::now();
  post(receiver, Advance{}, kDelay);
  REQUIRE(arrived.get_future().wait_for(patience()) == std::future_status::ready);
  CHECK(std::chrono::steady_clock::now() - begin >= kDelay);
}

TEST_CASE("an actor hears once of the end of each actor that it watches, also if it has ended before") {
  const auto runtime = scheduled_runtime(1);
  std::vector<std::string> notes;
  const auto first = spawn(runtime, notes), second = spawn(runtime, notes), late = spawn(runtime, notes);
  const auto ended = spawn(runtime, notes);
  run_all(runtime);
  end(runtime, ended);
  const auto watcher = spawn(runtime, notes, [&](Noter& self) {
    troupe::watch(self, first, [&](const caf::error& reason) {
      notes.push_back(reason ? "first failed" : "first ended");
      // The watches that are there stay, and a new one counts.
      troupe::watch(self, late, [&](const caf::error&) { notes.push_back("late ended"); });
      troupe::watch(self, ended, [&](const caf::error&) { notes.push_back("ended before"); });
    });
    troupe::watch(self, second, [&](const caf::error& reason) {
      notes.push_back(reason == caf::exit_reason::kill ? "second killed" : "second ended");
    });
    troupe::watch(self, second, [&](const caf::error&) { notes.push_back("second again"); });
  });
  post(watcher, Continue{});
  run_all(runtime);
  CHECK(notes.empty());
  end(runtime, first);
  CHECK(notes == std::vector<std::string>{"first ended", "ended before"});
  end(runtime, late);
  CHECK(notes.back() == "late ended");
  notes.clear();
  caf::anon_send_exit(second, caf::exit_reason::kill);
  run_all(runtime);
  // CAF 1.1 calls the newest watch of an actor first.
  std::ranges::sort(notes);
  CHECK(notes == std::vector<std::string>{"second again", "second killed"});
  end(runtime, watcher);
}

TEST_CASE("an actor that has ended hears nothing more of those that it watched") {
  const auto runtime = scheduled_runtime(1);
  std::vector<std::string> notes;
  const auto peer = spawn(runtime, notes);
  const auto watcher = spawn(runtime, notes, [&](Noter& self) {
    troupe::watch(self, peer, [&](const caf::error&) { notes.push_back("ended"); });
  });
  post(watcher, Continue{});
  run_all(runtime);
  end(runtime, watcher);
  end(runtime, peer);
  CHECK(notes.empty());
}

TEST_CASE("a blocking actor receives the end of an actor that it watches") {
  const Runtime runtime({.workers = 1, .cpu_devices = 1});
  const auto peer = runtime.system().spawn(
      [](caf::event_based_actor* self) -> caf::behavior { return {[self](const Stop&) { self->quit(); }}; });
  caf::scoped_actor self(runtime.system());
  troupe::watch(*self, peer);
  post(peer, Stop{});
  caf::actor_addr ended;
  self->receive([&](const caf::down_msg& down) { ended = down.source; }, caf::after(patience()) >> [] {});
  CHECK(ended == peer.address());
}
