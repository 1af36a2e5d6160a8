#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "troupe/transport/link.hpp"

namespace troupe::testing {

/// A link that calls a function with each frame, on the thread that sends it, and then passes the frame to another
/// link.
class ObservedLink final : public Link {
 public:
  using OnSend = std::function<void(const Frame&)>;

  ObservedLink(std::shared_ptr<Link> link, OnSend on_send) : link_(std::move(link)), on_send_(std::move(on_send)) {}

  bool send(const Frame& frame) override {
    on_send_(frame);
    return link_->send(frame);
  }
  std::optional<IncomingFrame> receive() override { return link_->receive(); }
  void on_ready(OnReady callback) override { link_->on_ready(std::move(callback)); }
  void close() override { link_->close(); }
  FailurePtr failure() const override { return link_->failure(); }

 private:
  std::shared_ptr<Link> link_;
  OnSend on_send_;
};

}  // namespace troupe::testing
