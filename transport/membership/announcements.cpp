#include "troupe/transport/membership/announcements.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

Frame frame_of(const std::vector<std::byte>& bytes) {
  return {{.type = FrameType::control}, payload_of(bytes)};
}

}  // namespace

void Announcements::add_listener(int rank) {
  std::lock_guard lock(mutex_);
  // The name of the old link is free: another process has taken the place of the peer (Endpoint::replace_peer).
  auto& link = listeners_[rank] = make_link_(rank);
  if (!last_.empty()) link->send(frame_of(last_));
}

void Announcements::announce(std::vector<std::byte> bytes) {
  std::lock_guard lock(mutex_);
  last_ = std::move(bytes);
  for (const auto& [rank, link] : listeners_) link->send(frame_of(last_));
}

std::optional<std::vector<std::byte>> Announcements::hear(std::chrono::milliseconds limit) {
  if (!reader_) reader_ = std::make_unique<LinkReader>(make_link_(0));
  if (const auto frame = reader_->receive(limit)) {
    const auto payload = frame->payload->tensor();
    return std::vector(payload.raw(), payload.raw() + payload.bytes());
  }
  if (const auto cause = reader_->link().failure()) throw Error("cluster", "rank 0 has ended: " + cause->what);
  return std::nullopt;
}

}  // namespace troupe
