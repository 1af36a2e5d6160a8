#pragma once

#include <chrono>
#include <memory>
#include <optional>

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

}  // namespace troupe
