#include "troupe/tests/fuzz/frames.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/packet.hpp"

namespace troupe::fuzz {

namespace {

// The header ends with its length, the payload's checksum, and its own.
constexpr std::size_t kLengthAt = kFrameHeaderBytes - 24, kPayloadChecksumAt = kFrameHeaderBytes - 16;

std::size_t announced(std::span<const std::byte> header) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < sizeof length; ++i)
    length |= std::to_integer<std::size_t>(header[kLengthAt + i]) << (8 * i);
  return length;
}

}  // namespace

std::vector<std::byte> bytes_of(const Frame& frame) {
  const auto header = encode_header(frame);
  std::vector<std::byte> bytes(header.size() + frame.payload.bytes());
  std::ranges::copy(header, bytes.begin());
  std::copy_n(frame.payload.raw(), frame.payload.bytes(), bytes.begin() + static_cast<std::ptrdiff_t>(header.size()));
  return bytes;
}

IncomingFrame read_frame(Input& input) {
  const bool repaired = input.byte() % 2 == 0;
  auto header = input.take(kFrameHeaderBytes);
  const auto payload = input.take(header.size() == kFrameHeaderBytes ? announced(header) : 0);
  if (repaired && header.size() == kFrameHeaderBytes) {
    put(header, kPayloadChecksumAt, zeromq::checksum_of(payload));
    repair(header);
  }
  const auto decoded = decode_header(header, kMostPayloadBytes);
  check_payload(decoded, payload);
  Tensor tensor(decoded.payload.shape, decoded.payload.dtype);
  std::copy(payload.begin(), payload.end(), tensor.mutable_raw());
  return {decoded.header, std::make_unique<TensorPayload>(std::move(tensor))};
}

std::deque<IncomingFrame> read_frames(Input& input) {
  std::deque<IncomingFrame> frames;
  frames.push_back(read_frame(input));
  try {
    while (!input.at_end()) frames.push_back(read_frame(input));
  } catch (const Error&) {
    // Those before the damaged one have arrived.
  }
  return frames;
}

IncomingFrame arrived(const Frame& frame) {
  auto bytes = bytes_of(frame);
  bytes.insert(bytes.begin(), std::byte{1});
  Input input(bytes);
  return read_frame(input);
}

std::optional<IncomingFrame> ScriptedLink::receive() {
  std::lock_guard lock(mutex_);
  if (frames_.empty()) {
    read_ = true;
    changed_.notify_all();
    return std::nullopt;
  }
  auto frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

void ScriptedLink::on_ready(OnReady callback) {
  if (callback) callback();
}

FailurePtr ScriptedLink::failure() const {
  std::lock_guard lock(mutex_);
  return frames_.empty() ? std::make_shared<Failure>(Failure{.what = "[link] gone"}) : nullptr;
}

void ScriptedLink::wait_until_read() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return read_; });
}

}  // namespace troupe::fuzz
