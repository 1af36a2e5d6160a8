#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "troupe/transport/endpoint.hpp"
#include "troupe/transport/zeromq/packet.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe::zeromq {

/// The way to one peer: what waits to be sent to it, in the order of its priorities, and how much of what was sent it
/// has acknowledged. At most kWindow packets are on their way. Thread-safe.
class Connection {
 public:
  Connection(zmq::context_t& context, const std::string& own_identity, int peer, const EndpointAddress& address,
             bool same_host);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int peer() const { return peer_; }
  std::int64_t pid() const { return pid_; }

  // What links send. False if the connection has failed.
  bool send(std::uint64_t channel, const Frame& frame);
  bool close_channel(std::uint64_t channel);
  void payload_read(std::uint64_t first);

  /// A packet of this peer has come. Throws Error if it cannot come now: one before it was lost, or it acknowledges
  /// what was not sent.
  void note_received(const PacketHeader& header);

  /// Looks whether the peer is connected or gone, and sends what it can; when there was nothing to do for a while,
  /// acknowledges what has come.
  void poll(bool idle);
  zmq::socket_t& monitor() { return monitor_; }

  /// Tells the peer that nothing more is taken from it, and fails.
  void give_up(const FailurePtr& cause);
  /// Sends nothing more. The first cause counts.
  void fail(const FailurePtr& cause);
  /// Closes the socket: its context is about to go, though links may still hold this. What was sent is handed to the
  /// kernel.
  void shut();
  FailurePtr failure() const;
  /// Whether the peer has acknowledged everything, or there is no hope that it will.
  bool drained() const;

 private:
  /// What waits to be sent, and how far it was.
  struct Outgoing {
    PacketType type;
    std::uint64_t channel = 0;
    Frame frame = {};
    std::uint64_t first = 0;
    std::size_t offset = 0;
  };
  /// A payload that the peer reads in this process's memory.
  struct Offer {
    Tensor payload;
    std::shared_ptr<const PayloadGuard> guard;
  };

  bool enqueue(std::int64_t priority, Outgoing outgoing);
  void pump();
  bool send_next(Outgoing& outgoing);
  bool send_packet(PacketStart& start, zmq::message_t bytes);
  bool is_finished(const Outgoing& outgoing) const;
  bool reads_in_place(const Frame& frame) const;
  void acknowledge();
  void say_last_word();
  /// Counts a refused attempt to connect. Returns whether the peer is gone: a peer that has sent a packet listens as
  /// long as it lives, and ZeroMQ reports no end of a peer that ends before the connection to it is made.
  bool note_refusal();

  const int peer_;
  const std::int64_t pid_;
  mutable std::mutex mutex_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
  std::map<std::pair<std::int64_t, std::uint64_t>, Outgoing> queue_;  // by priority, then in order
  std::map<std::uint64_t, Offer> offers_;                             // by the sequence of their frames
  std::uint64_t order_ = 0;
  std::uint64_t sent_ = 0, acknowledged_ = 0;
  std::uint64_t received_ = 0, received_acknowledged_ = 0;
  bool connected_ = false;
  int refusals_ = 0;  // since the first packet of the peer
  bool peer_reads_memory_ = false;
  bool owes_last_word_ = false;
  FailurePtr failure_;
};

/// The failure of a connection.
FailurePtr connection_failure(const std::string& why);

}  // namespace troupe::zeromq
