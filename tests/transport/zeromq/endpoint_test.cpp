#include "troupe/transport/endpoint.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/tests/transport/zeromq/link_ends.hpp"
#include "troupe/transport/acceptor.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Sends a frame with a payload of 800,000 bytes from end a to end b, and returns it as it arrives.
IncomingFrame guarded_frame(LinkEnds& ends) {
  auto frame = numbered(0, 100'000);
  frame.guard = std::make_shared<PayloadGuard>();
  ends.a.link().send(frame);
  auto arrived = ends.b.receive(patience());
  REQUIRE(arrived);
  return std::move(*arrived);
}

/// Waits until end b reads payloads of end a in place, which the first packets find out.
bool reads_in_place(LinkEnds& ends) {
  return eventually([&] { return guarded_frame(ends).payload->local() == nullptr; });
}

/// The numbers of the threads of this process.
std::set<std::string> threads_of_process() {
  std::set<std::string> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.insert(entry.path().filename());
  return threads;
}

/// The set of signals that a thread blocks, with bit s - 1 for signal s. Nothing if the thread has ended.
std::optional<std::uint64_t> blocked_signals_of(const std::string& thread) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string word; status >> word;)
    if (word == "SigBlk:" && status >> word) return std::stoull(word, nullptr, 16);
  return std::nullopt;
}

}  // namespace

TEST_CASE("frames of any size arrive whole and in order, in both directions") {
  const bool same_host = GENERATE(false, true);
  LinkEnds ends({.same_host = same_host});
  const std::vector<std::int64_t> sizes{0, 1, 3, 500, 513, 5'000, 524'288, 524'289, 1'500'000};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto frame = numbered(static_cast<std::int64_t>(i), sizes[i]);
    // With a guard, the receiver may read in place.
    frame.guard = i % 2 == 0 ? std::make_shared<PayloadGuard>() : nullptr;
    CHECK(ends.a.link().send(frame));
    CHECK(ends.b.link().send(frame));
  }
  for (auto* reader : {&ends.a, &ends.b}) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto frame = reader->receive(patience());
      REQUIRE(frame);
      CHECK(frame->header.step == static_cast<std::int64_t>(i));
      const auto payload = frame->payload->tensor();
      REQUIRE(payload.elements() == sizes[i]);
      const auto elements = payload.data<std::int64_t>();
      CHECK(std::ranges::all_of(elements, [&](auto e) { return e == static_cast<std::int64_t>(i); }));
    }
  }
  CHECK(ends.endpoints[0]->drain(patience()));
}

TEST_CASE("what is used first overtakes what is used later, between the packets of a large frame") {
  std::promise<void> has_come, all_sent;
  std::atomic<bool> is_first{true};
  const auto endpoints = make_endpoints(2, {.same_host = false});
  const auto a = endpoints[0]->link(1, "x"), b = endpoints[1]->link(0, "x");
  // The thread that receives stays in this callback, acknowledges nothing, and so no large frame is sent to its end.
  b->on_ready([&] {
    if (!is_first.exchange(false)) return;
    has_come.set_value();
    all_sent.get_future().wait_for(patience());
  });
  a->send(numbered(0, 1));
  REQUIRE(has_come.get_future().wait_for(patience()) == std::future_status::ready);
  // 80 MB are more than may be on the way.
  for (const auto& frame : {numbered(9, 10'000'000, 9), numbered(3, 1'000'000, 3), numbered(1, 1)}) a->send(frame);
  all_sent.set_value();
  LinkReader reader(b);
  REQUIRE(reader.receive(patience()));
  std::vector<std::int64_t> steps;
  for (int i = 0; i < 3; ++i) {
    const auto frame = reader.receive(patience());
    REQUIRE(frame);
    steps.push_back(frame->header.step);
  }
  CHECK(steps == std::vector<std::int64_t>{1, 3, 9});
}

TEST_CASE("a payload that is read in place stays its sender's until then, and can be withdrawn") {
  LinkEnds ends({.same_host = true});
  const auto guard = std::make_shared<PayloadGuard>();
  auto frame = numbered(1, 100'000);
  frame.guard = guard;
  REQUIRE(reads_in_place(ends));
  ends.a.link().send(frame);
  auto arrived = ends.b.receive(patience());
  REQUIRE(arrived);
  CHECK(arrived->payload->local() == nullptr);
  CHECK(frame.payload.use_count() == 2);
  std::int64_t element = 0;
  arrived->payload->read(80, std::as_writable_bytes(std::span(&element, 1)));
  CHECK(element == 1);
  CHECK_THROWS_WITH(arrived->payload->read(799'999, std::as_writable_bytes(std::span(&element, 1))),
                    Contains("8 bytes from 799999 on"));
  guard->withdraw();
  CHECK_THROWS_AS(arrived->payload->tensor(), PayloadWithdrawn);
  arrived.reset();
  CHECK(eventually([&] { return frame.payload.use_count() == 1; }));
}

TEST_CASE("a payload is read in the memory of the process at the other end, not of one that an address names") {
  const auto first = make_zeromq_endpoint({}), second = make_zeromq_endpoint({});
  auto address_of_first = first->address(), address_of_second = second->address();
  address_of_first.pid = address_of_second.pid = 1;
  first->add_peer(1, address_of_second);
  second->add_peer(0, address_of_first);
  LinkEnds ends(first, second);
  REQUIRE(reads_in_place(ends));
  auto frame = numbered(7, 100'000);
  frame.guard = std::make_shared<PayloadGuard>();
  ends.a.link().send(frame);
  const auto arrived = ends.b.receive(patience());
  REQUIRE(arrived);
  CHECK(
      std::ranges::all_of(arrived->payload->tensor().data<std::int64_t>(), [](auto element) { return element == 7; }));
}

TEST_CASE("closing a link, or losing the process at its other end, is the other end's failure") {
  LinkEnds ends({.same_host = GENERATE(false, true)});
  ends.a.link().send(numbered(1, 10));
  ends.a.link().close();
  CHECK_FALSE(ends.a.link().send(numbered(2, 10)));
  REQUIRE(ends.b.receive(patience()));
  CHECK_FALSE(ends.b.receive(patience()));
  REQUIRE(ends.b.link().failure());
  CHECK_THAT(ends.b.link().failure()->what, Contains("process 0 has closed it"));
  // Another link of the same processes lives on, until one of them goes.
  LinkReader other(ends.endpoints[1]->link(0, "y"));
  CHECK_FALSE(other.link().failure());
  ends.endpoints[0].reset();
  CHECK_FALSE(other.receive(patience()));
  REQUIRE(other.link().failure());
  CHECK_THAT(other.link().failure()->what, Contains("process 0"));
}

TEST_CASE("a link fails when its peer has sent packets and refuses every connection") {
  const auto here = make_zeromq_endpoint({.same_host = false}), there = make_zeromq_endpoint({.same_host = false});
  // No socket listens at this port.
  const ReservedPort port;
  auto address = there->address();
  address.tcp = "tcp://" + port.address();
  here->add_peer(1, address);
  there->add_peer(0, here->address());
  const auto sending = there->link(0, "x");
  sending->send(numbered(1, 10));
  LinkReader reader(here->link(1, "x"));
  REQUIRE(reader.receive(patience()));
  CHECK_FALSE(reader.receive(patience()));
  REQUIRE(reader.link().failure());
  CHECK_THAT(reader.link().failure()->what, Contains("process 1, which has sent packets, refuses every connection"));
}

TEST_CASE("a peer that is connected and silent is lost, and its number and the cause are told") {
  std::promise<std::pair<int, FailurePtr>> told;
  EndpointOptions options{.same_host = GENERATE(false, true)};
  const auto silent = make_zeromq_endpoint(options);
  options.beat_interval = std::chrono::milliseconds(10);
  options.silence_limit = std::chrono::milliseconds(100);
  options.on_lost = [&](int peer, const EndpointAddress& address, const FailurePtr& cause) {
    if (address == silent->address()) told.set_value({peer, cause});
  };
  const auto watching = make_zeromq_endpoint(options);
  watching->add_peer(7, silent->address());
  silent->add_peer(0, watching->address());
  const auto link = watching->link(7, "x");
  auto loss = told.get_future();
  REQUIRE(loss.wait_for(patience()) == std::future_status::ready);
  const auto [peer, cause] = loss.get();
  CHECK(peer == 7);
  CHECK(cause->rank == 7);
  CHECK_THAT(cause->what, Contains("[link] no data from process 7 has arrived for "));
  CHECK(link->failure() == cause);
}

TEST_CASE("beats keep a connection alive without frames") {
  EndpointOptions options{.beat_interval = std::chrono::milliseconds(1), .silence_limit = patience()};
  std::atomic<int> lost{0};
  options.on_lost = [&](int, const EndpointAddress&, const FailurePtr&) { ++lost; };
  LinkEnds ends(options);
  for (int i = 0; i < 20; ++i) {
    ends.a.link().send(numbered(i, 10));
    REQUIRE(ends.b.receive(patience()));
  }
  CHECK(lost == 0);
}

TEST_CASE("the threads of endpoints block signals, so that the threads of the program handle them") {
  const auto before = threads_of_process();
  LinkEnds ends({.silence_limit = patience()});
  const auto address = new_address();
  const Secret secret(std::string(32, 's'));
  const auto acceptor = make_acceptor({"tcp://" + address}, secret, 4, patience());
  const auto client = connect_to_acceptor("tcp://" + address, secret, patience());
  ends.a.link().send(numbered(1, 10));
  REQUIRE(ends.b.receive(patience()));
  int threads = 0;
  for (const auto& thread : threads_of_process()) {
    const auto blocked = blocked_signals_of(thread);
    if (before.contains(thread) || !blocked) continue;
    ++threads;
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1}) CHECK((*blocked >> (signal - 1) & 1) == 1);
  }
  CHECK(threads >= 2);
}

TEST_CASE("signals that arrive during a wait do not end it") {
  const auto address = new_address();
  const Secret secret(std::string(32, 's'));
  const auto acceptor = make_acceptor({"tcp://" + address}, secret, 4, patience());
  const auto client = connect_to_acceptor("tcp://" + address, secret, patience());
  std::atomic<bool> stop{false};
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, &before);
  std::thread signals([&stop, waiting = pthread_self()] {
    while (!stop) {
      pthread_kill(waiting, SIGUSR1);
      std::this_thread::yield();
    }
  });
  // The wait lasts for a time in which signals arrive.
  CHECK_FALSE(acceptor->receive(std::chrono::steady_clock::now() + std::chrono::milliseconds(50)));
  CHECK_FALSE(client->receive(std::chrono::steady_clock::now() + std::chrono::milliseconds(50)));
  client->send(std::as_bytes(std::span("hello", 5)));
  CHECK(acceptor->receive(std::chrono::steady_clock::now() + patience()));
  LinkEnds ends({});
  for (int i = 0; i < 100; ++i) {
    ends.a.link().send(numbered(i, 1'000));
    const auto frame = ends.b.receive(patience());
    REQUIRE(frame);
    CHECK(frame->header.step == i);
  }
  stop = true;
  signals.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("a peer that sends more than may wait is cut off") {
  LinkEnds ends({.max_unreceived_bytes = 1'000'000, .same_host = false});
  // 1.6 MB.
  for (int i = 0; i < 20; ++i) ends.a.link().send(numbered(1, 10'000));
  REQUIRE(eventually([&] { return ends.a.link().failure() != nullptr; }));
  CHECK_FALSE(ends.a.link().send(numbered(1, 1)));
  CHECK_THAT(ends.a.link().failure()->what, Contains("process 1 takes nothing more"));
  while (ends.b.receive(patience())) {
  }
  REQUIRE(ends.b.link().failure());
  CHECK_THAT(ends.b.link().failure()->what, Contains("process 0") && Contains("more than 1000000 bytes"));
}

TEST_CASE("payloads are read in place only if both ends allow it") {
  LinkEnds ends({.read_in_place = false});
  CHECK(ends.endpoints[0]->reach(1, patience()) == Contact::accepted);
  for (int i = 0; i < 10; ++i) CHECK(guarded_frame(ends).payload->local() != nullptr);
}

TEST_CASE("peers and links that are not there are refused") {
  const auto endpoints = make_endpoints(2);
  CHECK_THROWS_WITH(endpoints[0]->link(7, "x"), Contains("no peer 7"));
  const auto link = endpoints[0]->link(1, "x");
  CHECK_THROWS_WITH(endpoints[0]->link(1, "x"), Contains("has a link 'x' already"));
  CHECK_THROWS_WITH(endpoints[0]->add_peer(1, endpoints[1]->address()), Contains("known already"));
}
