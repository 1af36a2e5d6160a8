#pragma once

#include <map>
#include <memory>
#include <optional>
#include <zmq.hpp>

#include "troupe/transport/link.hpp"
#include "troupe/transport/zeromq/connection.hpp"
#include "troupe/transport/zeromq/packet.hpp"

namespace troupe::zeromq {

/// Makes frames of the packets of one peer. Several frames may be on their way at once: an urgent one overtakes the
/// rest of a large one. One thread.
class Assembly {
 public:
  /// Frames whose payloads together are above `max_bytes` are refused.
  Assembly(std::shared_ptr<Connection> connection, std::size_t max_payload_bytes, std::size_t max_bytes)
      : connection_(std::move(connection)), max_payload_bytes_(max_payload_bytes), max_bytes_(max_bytes) {}

  /// Takes a packet with bytes of a frame. The frame, if it is whole now. Throws Error if it does not fit.
  std::optional<IncomingFrame> add(const PacketStart& start, zmq::message_t bytes);

 private:
  struct Partial {
    FrameHeader header;
    std::uint64_t channel = 0;
    Tensor payload;
    std::size_t received = 0;
  };
  std::optional<IncomingFrame> begin(const PacketStart& start, zmq::message_t bytes);
  std::optional<IncomingFrame> go_on(const PacketHeader& header, const zmq::message_t& bytes);

  std::shared_ptr<Connection> connection_;
  std::size_t max_payload_bytes_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::map<std::uint64_t, Partial> partial_;  // by the sequence of the first packet
};

}  // namespace troupe::zeromq
