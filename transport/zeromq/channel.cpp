#include "troupe/transport/zeromq/channel.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe::zeromq {

void Channel::deliver(IncomingFrame frame) {
  {
    std::lock_guard lock(mutex_);
    if (closed_ || failure_) return;
    const auto bytes = frame.payload->local() != nullptr ? frame.payload->bytes() : 0;
    if (bytes_ + bytes > max_bytes_)
      throw Error("link", "more than " + std::to_string(max_bytes_) + " bytes have arrived and were not received");
    bytes_ += bytes;
    frames_.push_back(std::move(frame));
  }
  wake();
}

std::optional<IncomingFrame> Channel::receive() {
  std::lock_guard lock(mutex_);
  if (frames_.empty()) return std::nullopt;
  auto frame = std::move(frames_.front());
  frames_.pop_front();
  if (frame.payload->local() != nullptr) bytes_ -= frame.payload->bytes();
  return frame;
}

void Channel::on_ready(Link::OnReady callback) {
  bool ready = false;
  {
    std::lock_guard lock(mutex_);
    on_ready_ = std::move(callback);
    ready = failure_ || !frames_.empty();
  }
  if (ready) wake();
}

void Channel::fail(const FailurePtr& cause) {
  {
    std::lock_guard lock(mutex_);
    if (failure_ || closed_) return;
    failure_ = cause;
  }
  wake();
}

void Channel::close() {
  std::deque<IncomingFrame> frames;
  std::lock_guard lock(mutex_);
  closed_ = true;
  frames.swap(frames_);
}

bool Channel::is_closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

FailurePtr Channel::failure() const {
  std::lock_guard lock(mutex_);
  return frames_.empty() ? failure_ : nullptr;
}

void Channel::wake() {
  Link::OnReady callback;
  {
    std::lock_guard lock(mutex_);
    callback = on_ready_;
  }
  if (callback) callback();
}

ChannelLink::~ChannelLink() {
  channel_->on_ready({});
  close();
}

void ChannelLink::close() {
  if (channel_->is_closed()) return;
  const bool open = channel_->failure() == nullptr;
  channel_->close();
  if (open) connection_->close_channel(id_);
}

}  // namespace troupe::zeromq
