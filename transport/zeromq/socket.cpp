#include "troupe/transport/zeromq/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "troupe/transport/descriptors.hpp"
#include "troupe/transport/zeromq/packet.hpp"

namespace troupe::zeromq {

namespace {

/// The time, in milliseconds, for which ZeroMQ still sends the queued messages of a closed socket.
constexpr int kLingerMs = 2'000;
constexpr int kHandshakeMs = 10'000;
/// The connections that wait until a listener accepts them. If more come, as in a flood by strangers, the kernel drops
/// first packets, those of members, too.
constexpr int kBacklog = 4'096;
constexpr std::int64_t kLongestSilenceMs = 3'600'000;
constexpr int kMaxSockets = 16'384;
/// The file descriptors of a context with its threads, a receiver with its monitor, an authenticator and listeners.
constexpr int kContextDescriptors = 16;

void set_common(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::linger, kLingerMs);
  socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  socket.set(zmq::sockopt::backlog, kBacklog);
  // Turns ZeroMQ's heartbeats off: they would end a connection to a process whose receive queue is full. The class
  // Membership sends heartbeats of its own.
  socket.set(zmq::sockopt::heartbeat_ivl, 0);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kPacketBytes + kEncryptionBytes));
}

/// Calls `function` again as long as a signal interrupts it, and returns its result.
template <class Function>
auto without_interrupts(Function function) {
  while (true) {
    try {
      return function();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }
}

#ifdef __GLIBC__
bool environment_sets_malloc() {
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  if (tunables != nullptr && std::string_view(tunables).find("glibc.malloc.") != std::string_view::npos) return true;
  for (const char* const name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}
#endif

}  // namespace

void keep_message_memory() {
#ifdef __GLIBC__
  constexpr int kMapThreshold = 32 << 20;
  [[maybe_unused]] static const bool done = !environment_sets_malloc() &&
                                            mallopt(M_MMAP_THRESHOLD, kMapThreshold) == 1 &&
                                            mallopt(M_TRIM_THRESHOLD, 2 * kMapThreshold) == 1;
#endif
}

zmq::context_t make_context() {
  require_descriptors(kContextDescriptors, "endpoint", "a ZeroMQ context");
  zmq::context_t context(1);
  context.set(zmq::ctxopt::max_sockets, kMaxSockets);
  return context;
}

zmq::socket_t make_receiver(zmq::context_t& context, std::size_t max_bytes) {
  zmq::socket_t socket(context, zmq::socket_type::router);
  set_common(socket);
  socket.set(zmq::sockopt::rcvhwm, 2 * kWindow);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(max_bytes + kEncryptionBytes));
  // Makes sending to a disconnected sender an error; by default ZeroMQ drops the message silently. Of the receivers,
  // only those of acceptors also send.
  socket.set(zmq::sockopt::router_mandatory, true);
  return socket;
}

zmq::socket_t make_sender(zmq::context_t& context, const std::string& identity) {
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  set_common(socket);
  // `immediate` makes ZeroMQ refuse packets before it is connected, so that they wait in Connection. ZeroMQ's queue
  // needs no limit, because Connection has kWindow packets at most in it.
  socket.set(zmq::sockopt::immediate, true);
  socket.set(zmq::sockopt::sndhwm, 0);
  socket.set(zmq::sockopt::routing_id, identity);
  return socket;
}

zmq::socket_t make_client(zmq::context_t& context) {
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  set_common(socket);
  // A client that gives up has no message that still matters.
  socket.set(zmq::sockopt::linger, 0);
  return socket;
}

void keep_alive(zmq::socket_t& socket, std::chrono::milliseconds silence_limit) {
  const auto limit = static_cast<int>(std::clamp<std::int64_t>(silence_limit.count(), 10, kLongestSilenceMs));
  socket.set(zmq::sockopt::heartbeat_ivl, std::max(1, limit / 10));
  socket.set(zmq::sockopt::heartbeat_timeout, limit);
}

bool try_send(zmq::socket_t& socket, zmq::message_t& part, zmq::send_flags flags) {
  return without_interrupts([&] { return socket.send(part, flags | zmq::send_flags::dontwait).has_value(); });
}

bool try_receive(zmq::socket_t& socket, zmq::message_t& part) {
  return without_interrupts([&] { return socket.recv(part, zmq::recv_flags::dontwait).has_value(); });
}

std::size_t poll_items(std::vector<zmq::pollitem_t>& items, std::chrono::milliseconds limit) {
  try {
    return static_cast<std::size_t>(zmq::poll(items.data(), items.size(), limit));
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return 0;
    throw;
  }
}

std::span<const std::byte> bytes_of(const zmq::message_t& message) {
  return {static_cast<const std::byte*>(message.data()), message.size()};
}

std::vector<zmq::message_t> receive_rest(zmq::socket_t& socket, bool more) {
  constexpr std::size_t kMaxParts = 3;
  std::vector<zmq::message_t> parts;
  while (more) {
    zmq::message_t part;
    // ZeroMQ gives a message only with all its parts, so this part is there.
    more = try_receive(socket, part) && part.more();
    if (parts.size() < kMaxParts) parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace troupe::zeromq
