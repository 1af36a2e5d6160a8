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

/// One end of a bidirectional connection between two processes, or between two components of one process. Frames that
/// are sent at one end arrive at the other end whole and once, those of equal priority in order, or the link fails at
/// both ends. No frame is skipped, except one whose PayloadGuard was withdrawn before the frame was sent. All members
/// may be called on any thread; only one thread at a time may call receive().
class Link {
 public:
  /// Called when receive() may return a frame or the link has failed: on any thread, and never while the link holds a
  /// lock. A call may still run for a moment after the callback was unset or the link was destroyed, so the function
  /// must own all that it uses.
  using OnReady = std::function<void()>;

  /// Closes the link.
  virtual ~Link() = default;

  /// Queues a frame to be sent, and returns without waiting for the other end. The caller must not write to the payload
  /// while the link holds a handle of it, unless it has withdrawn the frame's PayloadGuard, which lets the other end
  /// read the payload in this process's memory. Returns false if the link has failed or is closed; the frame is lost
  /// then.
  virtual bool send(const Frame& frame) = 0;
  /// Returns the next frame that has arrived, or nothing. Does not wait.
  virtual std::optional<IncomingFrame> receive() = 0;
  /// Sets the callback in place of an earlier one, and calls it at once if a frame has arrived or the link has failed.
  /// An empty function unsets the callback.
  virtual void on_ready(OnReady callback) = 0;
  /// Closes the link at both ends. Frames that have arrived at the other end can still be received there.
  virtual void close() = 0;
  /// Returns the reason why no further frame arrives: the other end was closed, the process at the other end is lost,
  /// or a damaged frame arrived. If the other end is in another process and was closed, the kind of the failure is
  /// `aborted`. Returns null while the link works, while frames that have arrived were not received, and at the end
  /// that closed the link.
  virtual FailurePtr failure() const = 0;
};

/// The faults that make_memory_link() injects into a link, for tests. Frames are numbered from 0 over both directions.
struct LinkFaults {
  /// The number of the frame at which the link breaks; this frame is lost.
  std::optional<std::int64_t> break_at = {};
  /// The number of the frame of which one bit, in the header or the payload, arrives flipped. `seed` chooses the bit.
  std::optional<std::int64_t> flip_bit_at = {};
  std::uint64_t seed = 0;

  /// Returns one fault at one of the first `frames` frames: the link breaks there, or one bit of the frame is flipped.
  /// `seed` chooses the frame and the kind of the fault.
  static LinkFaults random(std::uint64_t seed, std::int64_t frames);
};

/// Makes the two ends of a link within this process. Every frame is encoded, copied and checked like a frame between
/// processes, so this link is the reference for the behavior of links between processes. A frame whose payload is above
/// `max_payload_bytes` fails the link on arrival.
std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> make_memory_link(LinkFaults faults = {},
                                                                         std::size_t max_payload_bytes = std::size_t{1}
                                                                                                         << 32);

}  // namespace troupe
