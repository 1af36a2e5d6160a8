#include "troupe/transport/zeromq/assembly.hpp"

#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/direct_memory.hpp"

namespace troupe::zeromq {

namespace {

/// A payload that arrived whole, in the ZeroMQ message of its packet.
class MessagePayload final : public IncomingPayload {
 public:
  MessagePayload(TensorInfo info, zmq::message_t message)
      : IncomingPayload(std::move(info)), message_(std::move(message)) {}

  void read(std::size_t offset, std::span<std::byte> to) const override {
    expect_within(offset, to.size());
    if (!to.empty()) std::memcpy(to.data(), local() + offset, to.size());
  }
  const std::byte* local() const override { return bytes_of(message_).data(); }

 private:
  zmq::message_t message_;
};

/// A payload that stays in its sender's memory until this process reads it. The destructor sends a packet
/// `payload_read`, after which the sender may reuse the memory.
class RemotePayload final : public IncomingPayload {
 public:
  RemotePayload(TensorInfo info, std::shared_ptr<Connection> connection, const PacketHeader& header)
      : IncomingPayload(std::move(info)), connection_(std::move(connection)), header_(header) {}
  ~RemotePayload() override { connection_->payload_read(header_.sequence); }

  void read(std::size_t offset, std::span<std::byte> to) const override {
    expect_within(offset, to.size());
    if (const auto cause = connection_->failure()) throw PayloadWithdrawn(cause->what);
    if (!to.empty())
      read_memory(connection_->readable_process(), header_.address + offset, to,
                  {header_.guard_address, header_.checksum});
  }

 private:
  std::shared_ptr<Connection> connection_;
  PacketHeader header_;
};

}  // namespace

std::optional<IncomingFrame> Assembly::add(const PacketStart& start, zmq::message_t bytes) {
  check_bytes(start.header, bytes_of(bytes));
  return start.frame ? begin(start, std::move(bytes)) : continue_frame(start.header, bytes);
}

std::optional<IncomingFrame> Assembly::begin(const PacketStart& start, zmq::message_t bytes) {
  const auto& header = start.header;
  const auto decoded = decode_header(*start.frame, max_payload_bytes_);
  if (header.first != header.sequence || header.offset != 0)
    throw Error("link", "a frame does not begin with its first byte");
  if (header.address != 0 && connection_->readable_process() == 0)
    throw Error("link", "a frame refers to memory that this process cannot read");
  if (header.address != 0)
    return IncomingFrame{decoded.header, std::make_unique<RemotePayload>(decoded.payload, connection_, header)};
  if (header.bytes == decoded.payload_bytes())
    return IncomingFrame{decoded.header, std::make_unique<MessagePayload>(decoded.payload, std::move(bytes))};
  if (header.bytes == 0 || header.bytes > decoded.payload_bytes())
    throw Error("link", "a packet has " + std::to_string(header.bytes) + " bytes of a payload of " +
                            std::to_string(decoded.payload_bytes()));
  if (decoded.payload_bytes() > max_bytes_ - bytes_)
    throw Error("link", "frames of more than " + std::to_string(max_bytes_) + " bytes are on their way at once");
  bytes_ += decoded.payload_bytes();
  Partial partial{decoded.header, header.channel, Tensor(decoded.payload.shape, decoded.payload.dtype)};
  partial_.emplace(header.sequence, std::move(partial));
  return continue_frame(header, bytes);
}

std::optional<IncomingFrame> Assembly::continue_frame(const PacketHeader& header, const zmq::message_t& bytes) {
  const auto entry = partial_.find(header.first);
  if (entry == partial_.end()) throw Error("link", "a packet belongs to no frame that has begun");
  auto& partial = entry->second;
  const auto total = partial.payload.bytes();
  if (header.channel != partial.channel || header.offset != partial.received || header.bytes == 0 ||
      header.bytes > total - partial.received)
    throw Error("link", "a packet does not continue its frame");
  std::memcpy(partial.payload.mutable_raw() + partial.received, bytes.data(), bytes.size());
  partial.received += bytes.size();
  if (partial.received < total) return std::nullopt;
  IncomingFrame frame{partial.header, std::make_unique<TensorPayload>(std::move(partial.payload))};
  bytes_ -= total;
  partial_.erase(entry);
  return frame;
}

}  // namespace troupe::zeromq
