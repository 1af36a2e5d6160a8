#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "troupe/transport/link.hpp"

namespace troupe {

/// Receives the frames of a link, and blocks the calling thread until a frame arrives. Sets the on_ready callback of
/// the link. Used by one thread.
class LinkReader {
 public:
  explicit LinkReader(std::shared_ptr<Link> link);
  ~LinkReader() { link_->on_ready({}); }
  LinkReader(const LinkReader&) = delete;
  LinkReader& operator=(const LinkReader&) = delete;

  Link& link() { return *link_; }
  /// Returns the next frame; nothing if none arrives within the limit, or if the link has failed.
  std::optional<IncomingFrame> receive(std::chrono::milliseconds limit);

 private:
  struct Signal;
  std::shared_ptr<Link> link_;
  std::shared_ptr<Signal> signal_;
};

/// Passes all frames that have arrived to `take`. Calls `lose` with a failure if the link has failed, or if receive()
/// or `take` throws.
template <class Take, class Lose>
void receive_all(Link& link, const Take& take, const Lose& lose) {
  try {
    while (const auto frame = link.receive()) take(*frame);
    if (const auto cause = link.failure()) lose(cause);
  } catch (const std::exception& error) {
    lose(std::make_shared<const Failure>(Failure{.kind = FailureKind::part_died, .what = error.what()}));
  }
}

}  // namespace troupe
