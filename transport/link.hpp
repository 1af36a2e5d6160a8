#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "troupe/transport/frame.hpp"
#include "troupe/transport/payload.hpp"

namespace troupe {

/// A frame that has arrived.
struct IncomingFrame {
  FrameHeader header;
  std::unique_ptr<IncomingPayload> payload;
};

/// One end of a bidirectional, ordered connection between two parts of a plan. Frames that are sent at one end arrive
/// at the other whole, once and in order, or the link fails at both ends; no frame is ever skipped. A link knows no
/// actors. All members may be called on any thread; one thread at a time receives.
class Link {
 public:
  /// Called on any thread, never while the link holds a lock, when receive() may return a frame or the link has failed.
  /// May still run for a moment after it was unset or the link was destroyed: it holds all that it needs.
  using OnReady = std::function<void()>;

  /// Closes the link.
  virtual ~Link() = default;

  /// Sends a frame without waiting for the other end. The payload must stay as it is while the link holds its handle,
  /// or until the frame's guard is withdrawn. False if the link has failed or is closed: the frame is lost.
  virtual bool send(const Frame& frame) = 0;
  /// The next frame. Nothing if none has arrived.
  virtual std::optional<IncomingFrame> receive() = 0;
  /// Sets the callback, and calls it at once if a frame has arrived already. An empty function unsets it.
  virtual void on_ready(OnReady callback) = 0;
  /// Ends the link at both ends. Frames that have arrived can still be received.
  virtual void close() = 0;
  /// The reason why no further frame comes, once all frames that had arrived were received: the other end has closed or
  /// is gone, or it sent a damaged frame. Between processes, an end that was closed in order while its process lives
  /// has the kind `aborted`. Null as long as the link is whole, and at the end that closed it.
  virtual FailurePtr failure() const = 0;
};

/// The faults of an in-memory link, for tests. Frames are counted from 0 over both directions.
struct LinkFaults {
  /// The link breaks in place of this frame.
  std::optional<std::int64_t> break_at = {};
  /// One bit, chosen by `seed`, of the header or the payload of this frame arrives wrong.
  std::optional<std::int64_t> flip_bit_at = {};
  std::uint64_t seed = 0;

  /// Breaks at a frame below `frames`, or damages it. The seed decides.
  static LinkFaults random(std::uint64_t seed, std::int64_t frames);
};

/// The two ends of a link within this process. Every frame is encoded, copied and checked as on a wire: the reference
/// for links between processes. Payloads above `max_payload_bytes` are refused on arrival.
std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> make_memory_link(LinkFaults faults = {},
                                                                         std::size_t max_payload_bytes = std::size_t{1}
                                                                                                         << 32);

}  // namespace troupe
