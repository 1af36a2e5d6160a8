#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "troupe/transport/endpoint.hpp"
#include "troupe/transport/zeromq/monitor.hpp"
#include "troupe/transport/zeromq/packet.hpp"
#include "troupe/transport/zeromq/security.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe::zeromq {

/// A payload that ZeroMQ or the peer reads without a copy, and its guard or null. Both handles are kept until the
/// payload is read.
struct SharedPayload {
  Tensor payload;
  std::shared_ptr<const PayloadGuard> guard;
};

/// The properties of an endpoint that its connections need.
struct OwnEnd {
  std::string identity;
  std::optional<CurveKeys> keys = {};  ///< set if the endpoint encrypts
  bool read_in_place = false;          ///< whether payloads may be read directly in the memory of processes
};

/// The sending side of the connection to one peer: queues frames in order of priority, sends them as packets, and
/// counts received and acknowledged packets. At most kWindow packets, the window, are sent and not yet acknowledged.
/// The peer reads large payloads that this process offers to it directly in this process's memory. Thread-safe.
class Connection {
 public:
  /// Connects in the background to `address` of peer number `peer`: by `address.ipc` if `same_host` is set and the
  /// address has one, else by `address.tcp`.
  Connection(zmq::context_t& context, const OwnEnd& own, int peer, const EndpointAddress& address, bool same_host);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Returns the number of the peer's process if this process has found its nonce in the memory of that process, and
  /// so can read payloads there; else 0.
  std::int64_t readable_process() const { return readable_process_; }

  // The links call send() and close_channel(); `channel` is the number of the link. Both functions return false if the
  // connection has failed.
  bool send(std::uint64_t channel, const Frame& frame) {
    return enqueue(frame.priority, {{.type = PacketType::frame, .channel = channel}, frame});
  }
  bool close_channel(std::uint64_t channel);
  /// Tells the peer that this process has read, or dropped, a payload in the peer's memory: that of the frame which
  /// began with packet `first`.
  void payload_read(std::uint64_t first) {
    enqueue(Frame::kUrgent, {{.type = PacketType::payload_read, .first = first}});
  }

  /// Processes the header of a packet from the peer: counts the packet and the packets that it acknowledges, releases a
  /// payload that the peer has read, and sends the packets that the window allows now. `sender` is the process that has
  /// sent the packet, if the kernel names it; it counts in packets of the type `nonce_written` alone. Throws Error if a
  /// packet from the peer was lost, if the peer acknowledges a packet that was not sent, or if the first packet is no
  /// introduction or a later one is.
  void note_received(const PacketHeader& header, std::optional<std::int64_t> sender = {});

  /// Handles the events of the socket. Fails this object if the established connection has ended, or if the peer is
  /// lost according to note_refusal(), and returns the cause. Otherwise sends the packets that the window allows. If no
  /// socket of the endpoint has an event (`idle`), also acknowledges the packets that have arrived.
  FailurePtr poll(bool idle);
  /// Sends an acknowledgement, even of no new packet, so that the peer knows that this process lives.
  void beat();
  zmq::socket_t& monitor() { return monitor_.socket(); }

  /// Fails with `cause`, and sends the peer a packet `given_up`: this process accepts no further packets from it. The
  /// packet is sent as soon as the peer is connected. Does nothing if the connection has failed before.
  void give_up(const FailurePtr& cause);
  /// Ends the connection: drops the messages that wait and the handles of the payloads that the peer may still read,
  /// and sends nothing more except the packet of give_up(). Does nothing and returns false if the connection has failed
  /// before.
  bool fail(const FailurePtr& cause);
  /// Fails this object if it has not failed before, and closes its sockets. Call it before the end of the ZeroMQ
  /// context, because links may keep this object alive for longer. ZeroMQ still sends the packets that it has accepted.
  void shut();
  FailurePtr failure() const;
  /// Whether the peer has accepted the connection.
  bool connected() const;
  /// Whether no message waits and the peer has acknowledged every packet and read every offered payload, or the
  /// connection has failed.
  bool drained() const;

 private:
  /// A message to the peer that waits to be sent as one or several packets. `header` is that of its next packet;
  /// send_next() and send_packet() set the sequence and acknowledgement numbers. `frame` is used for messages of the
  /// type `frame` alone.
  struct Outgoing {
    PacketHeader header;
    Frame frame = {};
  };

  /// Queues a message, and sends the packets that the window allows. Returns false if the connection has failed.
  bool enqueue(std::int64_t priority, Outgoing outgoing);

  // The caller of pump(), send_next(), send_packet(), acknowledge() and send_given_up() must hold mutex_.

  /// Sends packets in order of priority. Ends when kWindow packets are not acknowledged, no message waits, or ZeroMQ
  /// accepts no more. Drops a frame if its PayloadGuard was withdrawn before its first packet. Does nothing before the
  /// connection is established.
  void pump();
  /// Sends the next packet of a message. Returns false if ZeroMQ does not accept it now.
  bool send_next(Outgoing& outgoing);
  bool send_packet(PacketStart start, zmq::message_t bytes);
  void acknowledge();
  void send_given_up();
  /// Queues a packet that has no frame. The caller must hold mutex_.
  void queue_control(const PacketHeader& header);

  // Both processes find out in three steps which one can read the other's memory. The introduction has a nonce of this
  // process; the peer writes it into its memory and sends its address; this process looks for it there. The process in
  // whose memory it looks is the one that the kernel names as the sender, so a peer cannot name another process.

  void write_nonce(std::uint64_t nonce);
  void look_for_nonce(std::uint64_t address, std::optional<std::int64_t> sender);

  /// Counts a refused attempt to connect, if the peer has sent a packet and the connection is not established. Returns
  /// whether the peer is lost: a peer that has sent a packet listens as long as it lives, but this one has refused more
  /// than kMaxRefusals attempts. ZeroMQ itself does not report the end of a peer that dies before the connection is
  /// established.
  bool note_refusal();

  const int peer_;
  const std::size_t packet_bytes_;  // the largest second part of a packet
  const std::uint64_t nonce_;       // 0 if this process does not read the peer's memory
  std::atomic<std::uint64_t> peer_nonce_{0};
  std::atomic<std::int64_t> readable_process_{0};
  mutable std::mutex mutex_;
  zmq::socket_t socket_;
  Monitor monitor_;
  std::map<std::pair<std::int64_t, std::uint64_t>, Outgoing> queue_;  // by priority, then in the order of enqueue()
  std::map<std::uint64_t, SharedPayload> offers_;  // offered payloads, by the number of the frame's first packet
  std::uint64_t order_ = 0;
  std::uint64_t sent_ = 0, acknowledged_ = 0;
  std::uint64_t received_ = 0, received_acknowledged_ = 0;
  bool connected_ = false;
  int refusals_ = 0;  // refused attempts to connect after the first packet of the peer
  bool peer_reads_memory_ = false;
  bool owes_given_up_ = false;
  FailurePtr failure_;
};

/// Returns a failure of the kind part_died with the text `[link] `, followed by `why`. `process` is the process that is
/// lost; -1 if it is none.
FailurePtr connection_failure(const std::string& why, int process = -1);

}  // namespace troupe::zeromq
