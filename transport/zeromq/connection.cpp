#include "troupe/transport/zeromq/connection.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/direct_memory.hpp"

namespace troupe::zeromq {

namespace {

// A packet's bytes up to this number are copied into the ZeroMQ message. For so few bytes, a message that refers to the
// payload, and reports when ZeroMQ has read it, costs more.
constexpr std::size_t kCopiedBytes = 4'096;
// A peer that has sent a packet is lost when it refuses more attempts to connect than this. ZeroMQ makes an attempt
// every 100 to 200 ms. A live peer refuses some while its listen queue is full.
constexpr int kMaxRefusals = 40;

/// Makes a ZeroMQ message of `bytes` bytes of the frame's payload, from byte `offset` on. A message of more than
/// kCopiedBytes refers to the payload and keeps handles of the payload and its guard until ZeroMQ has read it.
zmq::message_t message_of(const Frame& frame, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return {};
  auto* const from = frame.payload.mutable_raw() + offset;
  if (bytes <= kCopiedBytes) return zmq::message_t(from, bytes);
  auto shared = std::make_unique<SharedPayload>(SharedPayload{frame.payload, frame.guard});
  const auto release = [](void*, void* hint) { delete static_cast<SharedPayload*>(hint); };
  zmq::message_t message(from, bytes, release, shared.get());
  (void)shared.release();
  return message;
}

std::uint64_t random_nonce() {
  std::uint64_t nonce = 0;
  while (nonce == 0)
    if (getentropy(&nonce, sizeof nonce) != 0) throw Error("endpoint", "the kernel gives no random bytes");
  return nonce;
}

}  // namespace

FailurePtr connection_failure(const std::string& why, int process) {
  return std::make_shared<Failure>(Failure{.rank = process, .kind = FailureKind::part_died, .what = "[link] " + why});
}

Connection::Connection(zmq::context_t& context, const OwnEnd& own, int peer, const EndpointAddress& address,
                       bool same_host)
    : peer_(peer),
      packet_bytes_(own.keys ? kEncryptedPacketBytes : kPacketBytes),
      nonce_(own.read_in_place && same_host && !address.ipc.empty() ? random_nonce() : 0),
      socket_(make_sender(context, own.identity)),
      monitor_(context, socket_, "peer-" + address.identity) {
  if (own.keys)
    encrypt_client(socket_, *own.keys, address.key);
  else
    show_token(socket_, own.identity, token_of(address.key, own.identity));
  queue_control({.type = PacketType::introduction, .checksum = nonce_});
  socket_.connect(same_host && !address.ipc.empty() ? address.ipc : address.tcp);
}

Connection::~Connection() {
  shut();
}

void Connection::shut() {
  fail(connection_failure("this process has closed it"));
  std::lock_guard lock(mutex_);
  if (!socket_) return;
  monitor_.stop();
  socket_.close();
}

bool Connection::close_channel(std::uint64_t channel) {
  // The largest number is the lowest priority, so that all frames sent before arrive before this message.
  return enqueue(std::numeric_limits<std::int64_t>::max(), {{.type = PacketType::channel_closed, .channel = channel}});
}

bool Connection::enqueue(std::int64_t priority, Outgoing outgoing) {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return false;
    queue_.emplace(std::pair{priority, order_++}, std::move(outgoing));
    pump();
  }
  // Lets ZeroMQ's I/O thread run, which pump() may have woken on this core. Without the yield, the kernel could run the
  // calling thread on for a time slice of milliseconds, which delays the packet.
  std::this_thread::yield();
  return true;
}

void Connection::pump() {
  while (connected_ && !queue_.empty() && sent_ - acknowledged_ < kWindow) {
    auto next = queue_.begin();
    const auto& guard = next->second.frame.guard;
    // Drops a frame whose guard was withdrawn before its first packet. The code that withdraws a guard informs the peer
    // by another frame, or by failing the link.
    if (guard && !guard->valid() && next->second.header.offset == 0) {
      queue_.erase(next);
      continue;
    }
    if (!send_next(next->second)) return;
    const auto& [header, frame] = next->second;
    if (header.type != PacketType::frame || header.offset >= frame.payload.bytes() || offers_.contains(header.first))
      queue_.erase(next);
  }
}

bool Connection::send_next(Outgoing& outgoing) {
  const auto& frame = outgoing.frame;
  PacketStart start{outgoing.header};
  auto& header = start.header;
  header.sequence = sent_ + 1;
  if (header.type != PacketType::frame) return send_packet(start, {});
  if (header.offset == 0) {
    header.first = outgoing.header.first = header.sequence;
    start.frame = encode_header(frame, PayloadChecksum::none);
  } else {
    header.type = PacketType::chunk;
  }
  if (header.offset == 0 && peer_reads_memory_ && frame.guard && frame.payload.bytes() >= kReadInPlaceBytes) {
    header.address = reinterpret_cast<std::uintptr_t>(frame.payload.raw());
    header.guard_address = reinterpret_cast<std::uintptr_t>(frame.guard->address());
    header.checksum = frame.guard->valid_word();
    if (!send_packet(start, {})) return false;
    offers_[header.first] = {frame.payload, frame.guard};
    return true;
  }
  header.bytes = std::min(packet_bytes_, frame.payload.bytes() - header.offset);
  if (header.bytes > 0) header.checksum = checksum_of({frame.payload.raw() + header.offset, header.bytes});
  if (!send_packet(start, message_of(frame, header.offset, header.bytes))) return false;
  outgoing.header.offset += header.bytes;
  return true;
}

bool Connection::send_packet(PacketStart start, zmq::message_t bytes) {
  start.header.acknowledged = received_;
  const auto encoded = encode(start);
  zmq::message_t first(encoded.data(), encoded.size());
  if (!try_send(socket_, first, zmq::send_flags::sndmore)) return false;
  (void)try_send(socket_, bytes, zmq::send_flags::none);
  received_acknowledged_ = received_;
  if (start.header.sequence > 0) sent_ = start.header.sequence;
  return true;
}

void Connection::acknowledge() {
  if (received_ == received_acknowledged_ || !connected_) return;
  send_packet({}, {});
}

void Connection::queue_control(const PacketHeader& header) {
  // Control packets go before frames, and keep their order.
  queue_.emplace(std::pair{Frame::kUrgent - 1, order_++}, Outgoing{header});
}

void Connection::write_nonce(std::uint64_t nonce) {
  if (nonce == 0 || nonce_ == 0) return;
  allow_memory_reads();
  peer_nonce_ = nonce;
  queue_control({.type = PacketType::nonce_written, .address = reinterpret_cast<std::uintptr_t>(&peer_nonce_)});
}

void Connection::look_for_nonce(std::uint64_t address, std::optional<std::int64_t> sender) {
  if (nonce_ == 0 || !sender || !has_nonce(*sender, address, nonce_)) return;
  readable_process_ = *sender;
  queue_control({.type = PacketType::memory_readable});
}

void Connection::note_received(const PacketHeader& header, std::optional<std::int64_t> sender) {
  std::lock_guard lock(mutex_);
  if (header.acknowledged < acknowledged_ || header.acknowledged > sent_)
    throw Error("link", "packet " + std::to_string(header.acknowledged) + " is acknowledged, but " +
                            std::to_string(sent_) + " were sent");
  acknowledged_ = header.acknowledged;
  if (header.sequence > 0) {
    if (header.sequence != received_ + 1)
      throw Error("link", "packet " + std::to_string(header.sequence) + " came after " + std::to_string(received_));
    if ((header.type == PacketType::introduction) != (header.sequence == 1))
      throw Error("link", "the first packet, and no other, is an introduction");
    ++received_;
  }
  if (header.type == PacketType::introduction) write_nonce(header.checksum);
  if (header.type == PacketType::nonce_written) look_for_nonce(header.address, sender);
  if (header.type == PacketType::memory_readable) peer_reads_memory_ = peer_nonce_ != 0;
  if (header.type == PacketType::payload_read) offers_.erase(header.first);
  pump();
  // Acknowledges after every kWindow / 2 packets, so that the peer does not reach its limit of kWindow unacknowledged
  // packets.
  if (received_ - received_acknowledged_ >= kWindow / 2) acknowledge();
}

void Connection::beat() {
  std::lock_guard lock(mutex_);
  if (!failure_ && connected_ && sent_ > 0) send_packet({}, {});
}

FailurePtr Connection::poll(bool idle) {
  const auto lose = [this](const std::string& why) {
    const auto cause = connection_failure(why, peer_);
    return fail(cause) ? cause : nullptr;
  };
  while (const auto event = monitor_.next()) {
    if (event->number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      std::lock_guard lock(mutex_);
      connected_ = true;
      send_given_up();
    } else if (event->number == ZMQ_EVENT_DISCONNECTED) {
      std::unique_lock lock(mutex_);
      // Before the handshake, a disconnect only ends an attempt to connect, and ZeroMQ makes another.
      if (!connected_) continue;
      lock.unlock();
      return lose("the connection to process " + std::to_string(peer_) + " has ended");
    } else if (event->number == ZMQ_EVENT_CONNECT_RETRIED && note_refusal()) {
      return lose("process " + std::to_string(peer_) + ", which has sent packets, refuses every connection");
    }
  }
  std::lock_guard lock(mutex_);
  if (failure_) return nullptr;
  pump();
  if (idle) acknowledge();
  return nullptr;
}

bool Connection::note_refusal() {
  std::lock_guard lock(mutex_);
  return !connected_ && received_ > 0 && ++refusals_ > kMaxRefusals;
}

void Connection::give_up(const FailurePtr& cause) {
  {
    std::lock_guard lock(mutex_);
    owes_given_up_ = !failure_;
    send_given_up();
  }
  fail(cause);
}

void Connection::send_given_up() {
  if (!owes_given_up_ || !connected_) return;
  owes_given_up_ = false;
  send_packet({{.type = PacketType::given_up}}, {});
}

bool Connection::fail(const FailurePtr& cause) {
  // Declared before the lock, so that the payloads are released after it is unlocked: code that a release runs may send
  // on this connection.
  std::map<std::uint64_t, SharedPayload> offers;
  std::map<std::pair<std::int64_t, std::uint64_t>, Outgoing> queue;
  std::lock_guard lock(mutex_);
  if (failure_) return false;
  failure_ = cause;
  offers.swap(offers_);
  queue.swap(queue_);
  return true;
}

FailurePtr Connection::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

bool Connection::connected() const {
  std::lock_guard lock(mutex_);
  return connected_ && !failure_;
}

bool Connection::drained() const {
  std::lock_guard lock(mutex_);
  return failure_ || (queue_.empty() && acknowledged_ == sent_ && offers_.empty());
}

}  // namespace troupe::zeromq
