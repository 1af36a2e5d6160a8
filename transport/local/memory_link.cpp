#include <array>
#include <cstring>
#include <deque>
#include <mutex>

#include "troupe/ops/core/random.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

namespace {

/// A frame on its way.
struct Packet {
  EncodedHeader header;
  Tensor payload;
};

FailurePtr gone(const std::string& what) {
  return std::make_shared<Failure>(Failure{.kind = FailureKind::part_died, .what = "[link] " + what});
}

/// What the two ends share.
class Wire {
 public:
  Wire(LinkFaults faults, std::size_t max_payload_bytes) : faults_(faults), max_payload_bytes_(max_payload_bytes) {}

  bool send(int from, const Frame& frame) {
    Packet packet{encode_header(frame), frame.payload.clone()};
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      const auto number = frames_++;
      if (number == faults_.break_at)
        end("the connection broke");
      else if (number == faults_.flip_bit_at)
        flip_bit(packet);
      if (!closed_) arrived_[1 - from].push_back(std::move(packet));
    }
    wake(1 - from);
    if (is_closed()) wake(from);
    return true;
  }

  std::optional<IncomingFrame> receive(int end_index) {
    Packet packet;
    {
      std::lock_guard lock(mutex_);
      auto& queue = arrived_[end_index];
      if (queue.empty()) return std::nullopt;
      packet = std::move(queue.front());
      queue.pop_front();
    }
    try {
      const auto decoded = decode_header(packet.header, max_payload_bytes_);
      check_payload(decoded, {packet.payload.raw(), packet.payload.bytes()});
      return IncomingFrame{decoded.header, std::make_unique<TensorPayload>(
                                               packet.payload.view(decoded.payload.shape, decoded.payload.dtype, 0))};
    } catch (const Error& error) {
      break_off(end_index, std::string("a damaged frame arrived: ") + error.what());
      return std::nullopt;
    }
  }

  void on_ready(int end_index, Link::OnReady callback) {
    bool ready = false;
    {
      std::lock_guard lock(mutex_);
      on_ready_[end_index] = std::move(callback);
      ready = closed_ || !arrived_[end_index].empty();
    }
    if (ready) wake(end_index);
  }

  void close(int end_index) {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return;
      end("the other end has closed it");
      closed_by_ = end_index;
    }
    wake(1 - end_index);
  }

  FailurePtr failure(int end_index) const {
    std::lock_guard lock(mutex_);
    const bool all_received = arrived_[end_index].empty();
    return closed_ && all_received && closed_by_ != end_index ? failure_ : nullptr;
  }

 private:
  bool is_closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
  }

  void end(const std::string& why) {
    closed_ = true;
    failure_ = gone(why);
  }

  /// What follows a damaged frame is not worth receiving.
  void break_off(int end_index, const std::string& why) {
    {
      std::lock_guard lock(mutex_);
      arrived_[end_index].clear();
      end(why);
      closed_by_ = -1;
    }
    wake(1 - end_index);
  }

  void flip_bit(Packet& packet) const {
    const auto bits = 8 * (packet.header.size() + packet.payload.bytes());
    const auto bit = uniform_below(bits, faults_.seed, 0, 0);
    const auto byte = bit / 8;
    auto& target =
        byte < packet.header.size() ? packet.header[byte] : packet.payload.mutable_raw()[byte - packet.header.size()];
    target ^= static_cast<std::byte>(1U << (bit % 8));
  }

  void wake(int end_index) {
    Link::OnReady callback;
    {
      std::lock_guard lock(mutex_);
      callback = on_ready_[end_index];
    }
    if (callback) callback();
  }

  const LinkFaults faults_;
  const std::size_t max_payload_bytes_;
  mutable std::mutex mutex_;
  std::array<std::deque<Packet>, 2> arrived_;
  std::int64_t frames_ = 0;
  bool closed_ = false;
  int closed_by_ = -1;
  FailurePtr failure_;
  std::array<Link::OnReady, 2> on_ready_;
};

class MemoryLink final : public Link {
 public:
  MemoryLink(std::shared_ptr<Wire> wire, int end_index) : wire_(std::move(wire)), end_(end_index) {}
  ~MemoryLink() override {
    wire_->on_ready(end_, {});
    wire_->close(end_);
  }

  bool send(const Frame& frame) override { return wire_->send(end_, frame); }
  std::optional<IncomingFrame> receive() override { return wire_->receive(end_); }
  void on_ready(OnReady callback) override { wire_->on_ready(end_, std::move(callback)); }
  void close() override { wire_->close(end_); }
  FailurePtr failure() const override { return wire_->failure(end_); }

 private:
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
