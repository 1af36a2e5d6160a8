#include <array>
#include <deque>
#include <mutex>

#include "troupe/ops/core/random.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

namespace {

/// A frame that is sent and not received: the encoded header and a copy of the payload.
struct Packet {
  EncodedHeader header;
  Tensor payload;
};

/// The state that the two ends of a link share. Each array has an element for each end.
struct Wire {
  Wire(LinkFaults link_faults, std::size_t max_bytes) : faults(link_faults), max_payload_bytes(max_bytes) {}

  const LinkFaults faults;
  const std::size_t max_payload_bytes;
  std::mutex mutex;  // guards the members below
  std::array<std::deque<Packet>, 2> arrived;
  std::int64_t frames = 0;
  bool closed = false;
  int closed_by = -1;
  FailurePtr failure;
  std::array<Link::OnReady, 2> on_ready;
};

class MemoryLink final : public Link {
 public:
  MemoryLink(std::shared_ptr<Wire> wire, int end_index) : wire_(std::move(wire)), end_(end_index) {}
  ~MemoryLink() override {
    on_ready({});
    close();
  }

  bool send(const Frame& frame) override {
    Packet packet{encode_header(frame), frame.payload.clone()};
    bool closed = false;
    {
      std::lock_guard lock(wire_->mutex);
      if (wire_->closed) return false;
      const auto number = wire_->frames++;
      if (number == wire_->faults.break_at)
        end("the connection broke");
      else if (number == wire_->faults.flip_bit_at)
        flip_bit(packet);
      closed = wire_->closed;
      if (!closed) wire_->arrived[1 - end_].push_back(std::move(packet));
    }
    wake(1 - end_);
    if (closed) wake(end_);
    return true;
  }

  std::optional<IncomingFrame> receive() override {
    Packet packet;
    {
      std::lock_guard lock(wire_->mutex);
      auto& queue = wire_->arrived[end_];
      if (queue.empty()) return std::nullopt;
      packet = std::move(queue.front());
      queue.pop_front();
    }
    try {
      const auto decoded = decode_header(packet.header, wire_->max_payload_bytes);
      check_payload(decoded, {packet.payload.raw(), packet.payload.bytes()});
      return IncomingFrame{decoded.header, std::make_unique<TensorPayload>(
                                               packet.payload.view(decoded.payload.shape, decoded.payload.dtype, 0))};
    } catch (const Error& error) {
      break_off(std::string("a damaged frame arrived: ") + error.what());
      return std::nullopt;
    }
  }

  void on_ready(OnReady callback) override {
    bool ready = false;
    {
      std::lock_guard lock(wire_->mutex);
      wire_->on_ready[end_] = std::move(callback);
      ready = wire_->closed || !wire_->arrived[end_].empty();
    }
    if (ready) wake(end_);
  }

  void close() override {
    {
      std::lock_guard lock(wire_->mutex);
      if (wire_->closed) return;
      end("the other end has closed it");
      wire_->closed_by = end_;
    }
    wake(1 - end_);
  }

  FailurePtr failure() const override {
    std::lock_guard lock(wire_->mutex);
    const bool all_received = wire_->arrived[end_].empty();
    return wire_->closed && all_received && wire_->closed_by != end_ ? wire_->failure : nullptr;
  }

 private:
  void end(const std::string& why) {
    wire_->closed = true;
    wire_->failure = std::make_shared<Failure>(Failure{.kind = FailureKind::part_died, .what = "[link] " + why});
  }

  /// Closes both ends after a damaged frame has arrived at this end, and drops the later frames that have arrived here.
  void break_off(const std::string& why) {
    {
      std::lock_guard lock(wire_->mutex);
      wire_->arrived[end_].clear();
      end(why);
      wire_->closed_by = -1;
    }
    wake(1 - end_);
  }

  void flip_bit(Packet& packet) const {
    const auto bits = 8 * (packet.header.size() + packet.payload.bytes());
    const auto bit = uniform_below(bits, wire_->faults.seed, 0, 0);
    const auto byte = bit / 8;
    auto& target =
        byte < packet.header.size() ? packet.header[byte] : packet.payload.mutable_raw()[byte - packet.header.size()];
    target ^= static_cast<std::byte>(1U << (bit % 8));
  }

  void wake(int end_index) {
    OnReady callback;
    {
      std::lock_guard lock(wire_->mutex);
      callback = wire_->on_ready[end_index];
    }
    if (callback) callback();
  }

  std::shared_ptr<Wire> wire_;
  int end_;
};

}  // namespace

LinkFaults LinkFaults::random(std::uint64_t seed, std::int64_t frames) {
  LinkFaults faults{.seed = seed};
  const auto frame = static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(frames), seed, 1, 0));
  (uniform_below(2, seed, 2, 0) == 0 ? faults.break_at : faults.flip_bit_at) = frame;
  return faults;
}

std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> make_memory_link(LinkFaults faults,
                                                                         std::size_t max_payload_bytes) {
  const auto wire = std::make_shared<Wire>(faults, max_payload_bytes);
  return {std::make_shared<MemoryLink>(wire, 0), std::make_shared<MemoryLink>(wire, 1)};
}

}  // namespace troupe
