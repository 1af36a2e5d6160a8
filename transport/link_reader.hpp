#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "troupe/transport/link.hpp"

namespace troupe {

/// Waits for the frames of a link. One thread.
class LinkReader {
 public:
  explicit LinkReader(std::shared_ptr<Link> link);
  ~LinkReader() { link_->on_ready({}); }
  LinkReader(const LinkReader&) = delete;
  LinkReader& operator=(const LinkReader&) = delete;

  Link& link() { return *link_; }
  /// The next frame; nothing if none has come within the limit or the link has failed.
  std::optional<IncomingFrame> receive(std::chrono::milliseconds limit);

 private:
  struct Signal;
  std::shared_ptr<Link> link_;
  std::shared_ptr<Signal> signal_;
};

/// Passes the frames that have arrived to `take`. Calls `lose` with the reason, a text, if the link has failed or
/// `take` throws.
template <class Take, class Lose>
void receive_all(Link& link, const Take& take, const Lose& lose) {
  try {
    while (const auto frame = link.receive()) take(*frame);
    if (const auto cause = link.failure()) lose(cause->what);
  } catch (const std::exception& error) {
    lose(error.what());
  }
}

}  // namespace troupe
