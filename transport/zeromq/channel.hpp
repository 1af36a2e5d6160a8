#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "troupe/transport/link.hpp"
#include "troupe/transport/zeromq/connection.hpp"

namespace troupe::zeromq {

/// The receiving side of one link: the frames that have arrived, and the failure that ended the link. The I/O thread
/// fills it, the owner of the link empties it. Thread-safe.
class Channel {
 public:
  /// `max_bytes` bounds the payloads that wait in memory to be received.
  explicit Channel(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Adds a frame and calls the on_ready callback. Throws Error if more than `max_bytes` wait.
  void deliver(IncomingFrame frame);
  std::optional<IncomingFrame> receive();
  void on_ready(Link::OnReady callback);
  /// Ends the link: no further frame arrives. Only the first cause is kept.
  void fail(const FailurePtr& cause);
  /// Closes this end: frames that wait or still arrive are dropped.
  void close();
  bool is_closed() const;
  /// The cause that ended the link, once all frames were received; null before.
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

/// A link over a connection that it shares with the other links to the same peer. The destructor closes it.
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
