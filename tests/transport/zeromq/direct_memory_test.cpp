#include "troupe/transport/zeromq/direct_memory.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/transport/payload.hpp"

using namespace troupe;
using namespace troupe::zeromq;

namespace {

std::uint64_t address_of(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

RemoteGuard remote(const PayloadGuard& guard) {
  return {address_of(guard.address()), guard.valid_word()};
}

/// Reads from this process as from another one.
void read_here(const void* from, std::span<std::byte> to, const RemoteGuard& guard) {
  read_memory(getpid(), address_of(from), to, guard);
}

}  // namespace

TEST_CASE("a payload in the memory of a process is read as long as its guard is valid") {
  const std::vector<std::byte> payload(100'000, std::byte{7});
  std::vector<std::byte> read(payload.size());
  std::optional<PayloadGuard> guard(std::in_place);
  const auto remote_guard = remote(*guard);
  read_here(payload.data(), read, remote_guard);
  CHECK(read == payload);
  SECTION("until it is withdrawn") {
    guard->withdraw();
    CHECK_THROWS_WITH(read_here(payload.data(), read, remote_guard), Contains("has withdrawn its payload"));
  }
  SECTION("until it is destroyed") {
    guard.reset();
    CHECK_THROWS_WITH(read_here(payload.data(), read, remote_guard), Contains("has withdrawn its payload"));
  }
  SECTION("and not as long as another guard in its place") {
    guard.emplace();
    REQUIRE(address_of(guard->address()) == remote_guard.address);
    CHECK_THROWS_WITH(read_here(payload.data(), read, remote_guard), Contains("has withdrawn its payload"));
    CHECK_NOTHROW(read_here(payload.data(), read, remote(*guard)));
  }
}

TEST_CASE("memory that is not there is a payload withdrawn") {
  constexpr std::size_t kPages = 2;
  const auto page = static_cast<std::size_t>(getpagesize());
  auto* const map = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(map != MAP_FAILED);
  auto* const second = static_cast<std::byte*>(map) + page;
  REQUIRE(munmap(second, page) == 0);
  const PayloadGuard guard;
  std::vector<std::byte> read(kPages * page);
  CHECK_THROWS_AS(read_here(second, std::span(read).first(page), remote(guard)), PayloadWithdrawn);
  CHECK_THROWS_WITH(read_here(map, read, remote(guard)), Contains("its memory is gone"));
  CHECK_THROWS_AS(read_here(map, std::span(read).first(page), {address_of(second), 1}), PayloadWithdrawn);
  munmap(map, page);
}

TEST_CASE("the guard is read after the payload") {
  // The payload is copied to where the guard is.
  const std::uint64_t withdrawn = 0;
  std::uint64_t word = 1;
  CHECK_THROWS_AS(read_here(&withdrawn, std::as_writable_bytes(std::span(&word, 1)), {address_of(&word), 1}),
                  PayloadWithdrawn);
}

TEST_CASE("a nonce is found only at its address in the memory of the process that has it") {
  const std::uint64_t nonce = 0x1234'5678'9ABC'DEF0;
  CHECK(has_nonce(getpid(), address_of(&nonce), nonce));
  CHECK_FALSE(has_nonce(getpid(), address_of(&nonce), nonce + 1));
  CHECK_FALSE(has_nonce(getpid(), 8, nonce));
  const auto child = fork();
  if (child == 0) {
    // A process that the kernel does not let this one read, because it has ended.
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  CHECK_FALSE(has_nonce(child, address_of(&nonce), nonce));
}

TEST_CASE("the kernel names the process that sends over ipc, and none that sends over TCP") {
  zmq::context_t context;
  zmq::socket_t receiver(context, zmq::socket_type::pull), sender(context, zmq::socket_type::push);
  const bool over_ipc = GENERATE(false, true);
  receiver.bind(over_ipc ? "ipc://@troupe-test-" + std::to_string(getpid()) : "tcp://127.0.0.1:*");
  sender.connect(receiver.get(zmq::sockopt::last_endpoint));
  sender.send(zmq::str_buffer("hello"), zmq::send_flags::none);
  zmq::message_t message;
  (void)receiver.recv(message);
  CHECK(sending_process(message) == (over_ipc ? std::optional<std::int64_t>(getpid()) : std::nullopt));
}
