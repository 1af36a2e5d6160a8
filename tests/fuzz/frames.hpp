#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "troupe/tests/fuzz/input.hpp"
#include "troupe/transport/link.hpp"

namespace troupe::fuzz {

/// Payloads are not larger.
inline constexpr std::size_t kMostPayloadBytes = std::size_t{64} << 10;

/// A frame as it travels: its header, with the checksum of its payload, and its payload.
std::vector<std::byte> bytes_of(const Frame& frame);

/// Frames that follow each other until the input ends or one is damaged: a byte, even if the checksums are to be
/// repaired, then a header and a payload as long as that says. Throws Error if the first frame is damaged.
std::deque<IncomingFrame> read_frames(Input& input);
IncomingFrame read_frame(Input& input);
/// The frame at its other end.
IncomingFrame arrived(const Frame& frame);

/// A link to a peer that sends these frames, takes every frame that arrives, and then is gone.
class ScriptedLink final : public Link {
 public:
  explicit ScriptedLink(std::deque<IncomingFrame> frames) : frames_(std::move(frames)) {}

  bool send(const Frame&) override { return true; }
  std::optional<IncomingFrame> receive() override;
  void on_ready(OnReady callback) override;
  void close() override {}
  FailurePtr failure() const override;

  /// Waits until all frames were received and dealt with.
  void wait_until_read();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<IncomingFrame> frames_;
  bool read_ = false;
};

}  // namespace troupe::fuzz
