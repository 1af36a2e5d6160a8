#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "troupe/transport/endpoint.hpp"
#include "troupe/transport/zeromq/packet.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe::zeromq {

/// A payload that is read without a copy, by ZeroMQ or by the peer, and its guard.
struct SharedPayload {
  Tensor payload;
  std::shared_ptr<const PayloadGuard> guard;
};

/// The sending side towards one peer: the frames that wait to be sent, in order of priority, and the acknowledgements
/// of the peer. At most kWindow packets are sent and not yet acknowledged. Thread-safe.
class Connection {
 public:
  /// Connects in the background: by `address.ipc` if `same_host` is set and the address has one, else by `address.tcp`.
  /// `own_identity` is this endpoint's identity, by which the peer knows the sender.
  Connection(zmq::context_t& context, const std::string& own_identity, int peer, const EndpointAddress& address,
             bool same_host);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::int64_t pid() const { return pid_; }

  // Messages of the links. They return false if the connection has failed.
  bool send(std::uint64_t channel, const Frame& frame) {
    return enqueue(frame.priority, {{.type = PacketType::frame, .channel = channel}, frame});
  }
  bool close_channel(std::uint64_t channel);
  /// Tells the peer that this process has read the payload that packet `first` offered in the peer's memory.
  void payload_read(std::uint64_t first) {
    enqueue(Frame::kUrgent, {{.type = PacketType::payload_read, .first = first}});
  }

  /// Records a packet of this peer and its acknowledgement, and sends what the window allows now. Throws Error if a
  /// packet before it was lost, or if it acknowledges a packet that was not sent.
  void note_received(const PacketHeader& header);

  /// Handles connects and disconnects, and sends what the window allows. If `idle`, also acknowledges the packets that
  /// have arrived.
  void poll(bool idle);
  zmq::socket_t& monitor() { return monitor_; }

  /// Tells the peer that this process takes no further packets from it, then fails. The message is sent as soon as the
  /// connection exists.
  void give_up(const FailurePtr& cause);
  /// Drops everything that waits; nothing more is sent. Only the first cause is kept.
  void fail(const FailurePtr& cause);
  /// Fails and closes the socket, because its context is about to end though links may still hold this connection.
  /// Packets that were sent are handed to the kernel.
  void shut();
  FailurePtr failure() const;
  /// Whether the peer has acknowledged and read everything, or the connection has failed.
  bool drained() const;

 private:
  /// A message that waits to be sent, and the header of its next packet, without the numbers of the packet.
  struct Outgoing {
    PacketHeader header;
    Frame frame = {};
  };

  /// Queues a message, and sends what the window allows. False if the connection has failed.
  bool enqueue(std::int64_t priority, Outgoing outgoing);

  // The caller of these holds the lock.

  /// Sends packets in order of priority while the window is open.
  void pump();
  /// Sends one packet of the message. False if ZeroMQ does not take it now.
  bool send_next(Outgoing& outgoing);
  bool send_packet(PacketStart start, zmq::message_t bytes);
  void acknowledge();
  void send_given_up();

  /// Counts a refused attempt to connect. Returns whether the peer is lost: a peer that has sent a packet listens as
  /// long as it lives, and ZeroMQ reports no end of a peer that dies before the connection to it exists.
  bool note_refusal();

  const int peer_;
  const std::int64_t pid_;
  mutable std::mutex mutex_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
  std::map<std::pair<std::int64_t, std::uint64_t>, Outgoing> queue_;  // by priority, then by order_
  std::map<std::uint64_t, SharedPayload> offers_;                     // by the sequence number of their frames
  std::uint64_t order_ = 0;
  std::uint64_t sent_ = 0, acknowledged_ = 0;
  std::uint64_t received_ = 0, received_acknowledged_ = 0;
  bool connected_ = false;
  int refusals_ = 0;  // since the first packet of the peer
  bool peer_reads_memory_ = false;
  bool owes_given_up_ = false;
  FailurePtr failure_;
};

/// A failure of the kind part_died with the text `[link] why`.
FailurePtr connection_failure(const std::string& why);

}  // namespace troupe::zeromq
