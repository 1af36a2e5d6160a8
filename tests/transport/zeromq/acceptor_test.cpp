#include "troupe/transport/acceptor.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/tests/transport/plain_listener.hpp"
#include "troupe/tests/transport/zeromq/stranger.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

const Secret kSecret(std::string(32, 's')), kOtherSecret(std::string(32, 't'));

std::vector<std::byte> bytes(std::size_t count) {
  return std::vector<std::byte>(count, std::byte{7});
}

/// Receives one message at an acceptor while `others` runs.
std::optional<Acceptor::Message> received(Acceptor& acceptor, const std::function<void()>& others) {
  std::thread thread(others);
  const auto message = acceptor.receive(std::chrono::steady_clock::now() + patience());
  thread.join();
  return message;
}

/// A silence limit that passes soon.
constexpr std::chrono::milliseconds kShortLimit{10};

/// Makes a client read what has happened.
AcceptorClient& look(AcceptorClient& client) {
  (void)client.receive(std::chrono::steady_clock::now());
  return client;
}

}  // namespace

TEST_CASE("a client with the secret sends messages and gets answers") {
  const ReservedPort port;
  const auto address = "tcp://" + port.address();
  const auto acceptor = make_acceptor({address}, kSecret, 4, patience());
  const auto client = connect_to_acceptor(address, kSecret, patience());
  client->send(bytes(kMaxAcceptedBytes));
  const auto message = received(*acceptor, [] {});
  REQUIRE(message);
  CHECK(message->bytes == bytes(kMaxAcceptedBytes));
  acceptor->answer(message->sender, bytes(1'000'000));
  CHECK(client->receive(std::chrono::steady_clock::now() + patience()) == bytes(1'000'000));
  CHECK_FALSE(client->was_refused());
  CHECK_THROWS_WITH(client->send(bytes(kMaxAcceptedBytes + 1)), Contains("65537 bytes"));
}

TEST_CASE("an acceptor hears nothing from strangers, reports them, and reads little of what they send") {
  const ReservedPort port;
  const auto address = "tcp://" + port.address();
  std::atomic<int> strangers{0};
  const auto acceptor = make_acceptor({address}, kSecret, 4, patience(), [&](const std::string&) { ++strangers; });
  const auto client = connect_to_acceptor(address, kSecret, patience());
  const auto message = received(*acceptor, [&] {
    const auto other = connect_to_acceptor(address, kOtherSecret, patience());
    other->send(bytes(10));
    CHECK(eventually([&] {
      (void)other->receive(std::chrono::steady_clock::now());
      return other->was_refused();
    }));
    constexpr std::size_t kFlood = std::size_t{64} << 20;
    for (const auto* mechanism : {"NULL", "PLAIN", "CURVE"}) {
      const Stranger stranger(address);
      stranger.begin(mechanism);
      CHECK(stranger.flood(kFlood) < kFlood / 2);
    }
    CHECK(eventually([&] { return strangers > 0; }));
    client->send(bytes(20));
  });
  REQUIRE(message);
  CHECK(message->bytes == bytes(20));
}

TEST_CASE("an acceptor listens at all its addresses") {
  const ReservedPort port;
  const auto second = "tcp://127.0.0.2:" + std::to_string(port.number());
  const auto acceptor = make_acceptor({"tcp://" + port.address(), second}, kSecret, 4, patience());
  const auto client = connect_to_acceptor(second, kSecret, patience());
  client->send(bytes(3));
  CHECK(received(*acceptor, [] {}));
  CHECK_THROWS_WITH(make_acceptor({second}, kSecret, 4, patience()),
                    Contains("cannot be bound") && Contains("a port of its own"));
}

TEST_CASE("a client notices that the process at its address does not listen any more") {
  const ReservedPort port;
  const auto address = "tcp://" + port.address();
  std::optional<PlainListener> listener(address);
  const auto client = connect_to_acceptor(address, kSecret, kShortLimit);
  listener->expect_connection();
  look(*client);
  CHECK_FALSE(client->is_deserted());
  listener.reset();
  CHECK(eventually([&] { return look(*client).is_deserted(); }));
  CHECK_FALSE(client->was_refused());
  CHECK_FALSE(client->is_cut_off());
}

TEST_CASE("a client waits for the first process at its address, unless one has listened there before") {
  const ReservedPort port;
  const auto first = connect_to_acceptor("tcp://" + port.address(), kSecret, kShortLimit);
  // Clients repeat an attempt after 100 to 200 ms. The attempts of three clients take longer than two of the first one.
  for (int i = 0; i < 3; ++i) {
    const auto later = connect_to_acceptor("tcp://" + port.address(), kSecret, kShortLimit, true);
    CHECK(eventually([&] { return look(*first).is_deserted() || look(*later).is_deserted(); }));
    CHECK(later->is_deserted());
  }
  CHECK_FALSE(look(*first).is_deserted());
}

TEST_CASE("a client waits for an acceptor at an address at which another process has listened before") {
  const ReservedPort port;
  const auto address = "tcp://" + port.address();
  std::optional<PlainListener> listener(address);
  const auto client = connect_to_acceptor(address, kSecret, patience());
  client->send(bytes(3));
  listener->expect_connection();
  listener.reset();
  const auto acceptor = make_acceptor({address}, kSecret, 4, patience());
  CHECK(received(*acceptor, [&] { look(*client); }));
  CHECK_FALSE(look(*client).is_deserted());
}
