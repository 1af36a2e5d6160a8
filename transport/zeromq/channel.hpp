#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "troupe/transport/link.hpp"
#include "troupe/transport/zeromq/connection.hpp"

namespace troupe::zeromq {

/// What has arrived on one link, and what ended it. Filled by the courier, emptied by whoever has the link.
/// Thread-safe.
class Channel {
 public:
  explicit Channel(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Throws Error if more than max_bytes wait.
  void deliver(IncomingFrame frame);
  std::optional<IncomingFrame> receive();
  void on_ready(Link::OnReady callback);
  /// No further frame comes. The first cause counts.
  void fail(const FailurePtr& cause);
  /// This end has closed: what still comes is dropped.
  void close();
  bool is_closed() const;
  /// Why no further frame comes, once all were received.
  FailurePtr failure() const;

 private:
  void wake();

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::deque<IncomingFrame> frames_;
  std::size_t bytes_ = 0;
  Link::OnReady on_ready_;
  FailurePtr failure_;
  bool closed_ = false;
};

/// A link on a connection that it shares with others.
class ChannelLink final : public Link {
 public:
  ChannelLink(std::shared_ptr<Connection> connection, std::shared_ptr<Channel> channel, std::uint64_t id)
      : connection_(std::move(connection)), channel_(std::move(channel)), id_(id) {}
  ~ChannelLink() override;

  bool send(const Frame& frame) override { return !channel_->is_closed() && connection_->send(id_, frame); }
  std::optional<IncomingFrame> receive() override { return channel_->receive(); }
  void on_ready(OnReady callback) override { channel_->on_ready(std::move(callback)); }
  void close() override;
  FailurePtr failure() const override { return channel_->failure(); }

 private:
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<Channel> channel_;
  std::uint64_t id_;
};

}  // namespace troupe::zeromq
