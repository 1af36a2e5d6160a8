#pragma once

#include <map>
#include <memory>
#include <optional>
#include <zmq.hpp>

#include "troupe/transport/link.hpp"
#include "troupe/transport/zeromq/connection.hpp"
#include "troupe/transport/zeromq/packet.hpp"

namespace troupe::zeromq {

/// Assembles the frames of one peer from packets. Several frames may be incomplete at once, because packets of an
/// urgent frame overtake the remaining packets of a large one. Used by one thread.
class Assembly {
 public:
  /// Payloads that stay in the peer's memory are read and released through `connection`. add() refuses a payload above
  /// `max_payload_bytes`, and a frame that would raise the sum of the payloads of all incomplete frames above
  /// `max_bytes`.
  Assembly(std::shared_ptr<Connection> connection, std::size_t max_payload_bytes, std::size_t max_bytes)
      : connection_(std::move(connection)), max_payload_bytes_(max_payload_bytes), max_bytes_(max_bytes) {}

  /// Adds a packet of type `frame` or `chunk`. Returns its frame if the frame is complete now. Throws Error if the
  /// packet is damaged, exceeds a limit, or does not continue its frame.
  std::optional<IncomingFrame> add(const PacketStart& start, zmq::message_t bytes);

 private:
  /// A frame whose payload has arrived in part.
  struct Partial {
    FrameHeader header;
    std::uint64_t channel = 0;
    Tensor payload;
    std::size_t received = 0;
  };
  std::optional<IncomingFrame> begin(const PacketStart& start, zmq::message_t bytes);
  std::optional<IncomingFrame> continue_frame(const PacketHeader& header, const zmq::message_t& bytes);

  std::shared_ptr<Connection> connection_;
  std::size_t max_payload_bytes_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::map<std::uint64_t, Partial> partial_;  // by the sequence number of the first packet of the frame
};

}  // namespace troupe::zeromq
