#include "troupe/transport/zeromq/monitor.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "troupe/ops/core/signals_blocked.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe::zeromq {

namespace {

/// Calls a function on a thread of its own each time a socket can be read, until it is destroyed.
class Reader {
 public:
  Reader(zmq::socket_t& socket, std::function<void()> read)
      : socket_(socket), read_(std::move(read)), thread_([this] { run(); }) {}
  ~Reader() {
    done_ = true;
    thread_.join();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

 private:
  void run() {
    // Short, because the destructor waits for the end of the poll.
    constexpr std::chrono::milliseconds kLimit{1};
    std::vector<zmq::pollitem_t> items{{socket_.handle(), 0, ZMQ_POLLIN, 0}};
    try {
      while (!done_) {
        poll_items(items, kLimit);
        read_();
      }
    } catch (const std::exception&) {
      // No memory is left for events, or the context has ended. The function runs on without a reader.
    }
  }

  zmq::socket_t& socket_;
  const std::function<void()> read_;
  std::atomic<bool> done_{false};
  const SignalsBlocked blocked_;
  std::thread thread_;
};

zmq::socket_t start_events(zmq::context_t& context, zmq::socket_t& watched, const std::string& name) {
  constexpr int kEvents = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED |
                          ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED |
                          ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
  const auto address = "inproc://" + name;
  if (zmq_socket_monitor(watched.handle(), address.c_str(), kEvents) != 0) throw zmq::error_t();
  zmq::socket_t events(context, zmq::socket_type::pair);
  events.set(zmq::sockopt::linger, 0);
  events.set(zmq::sockopt::rcvhwm, 1);
  events.connect(address);
  return events;
}

}  // namespace

bool is_handshake_failure(int event_number) {
  return event_number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL || event_number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
         event_number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
}

Monitor::Monitor(zmq::context_t& context, zmq::socket_t& watched, const std::string& name)
    : watched_(watched), events_(start_events(context, watched, name)) {}

std::optional<SocketEvent> Monitor::next() {
  if (read_ahead_.empty()) return read();
  auto event = std::move(read_ahead_.front());
  read_ahead_.pop_front();
  return event;
}

void Monitor::read_while(const std::function<void()>& function) {
  std::optional<Reader> reader;
  try {
    reader.emplace(events_, [this] {
      while (auto event = read()) read_ahead_.push_back(std::move(*event));
    });
  } catch (const std::system_error&) {
    // The system gives no thread. Without a reader the function waits only if all places are taken.
  }
  function();
}

void Monitor::stop() {
  if (!events_) return;
  read_while([this] { zmq_socket_monitor(watched_.handle(), nullptr, 0); });
  events_.close();
}

std::optional<SocketEvent> Monitor::read() {
  zmq::message_t fields, address;
  if (!try_receive(events_, fields)) return std::nullopt;
  (void)try_receive(events_, address);
  // The fields are a number of two bytes and a value of four.
  std::uint16_t number = 0;
  std::int32_t value = 0;
  std::memcpy(&number, fields.data(), sizeof number);
  std::memcpy(&value, static_cast<const char*>(fields.data()) + sizeof number, sizeof value);
  return SocketEvent{number, value, address.to_string()};
}

}  // namespace troupe::zeromq
