#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "troupe/transport/link_reader.hpp"

namespace troupe {

/// Announcements of rank 0 to the expendable ranks, in order. A rank that has returned gets the last announcement
/// first. Thread-safe at rank 0; another rank calls hear() on one thread.
class Announcements {
 public:
  using MakeLink = std::function<std::shared_ptr<Link>(int rank)>;

  /// `link` makes this process's end of a link: to an expendable rank at rank 0, to rank 0 elsewhere.
  explicit Announcements(MakeLink link) : make_link_(std::move(link)) {}

  /// At rank 0: sends the last announcement and all further ones to a rank. A rank that was added before and has
  /// returned gets a new link.
  void add_listener(int rank);
  /// At rank 0: sends an announcement to all listeners.
  void announce(std::vector<std::byte> bytes);

  /// At the other ranks: waits for the next announcement. Returns nothing if none arrives within the limit. Throws
  /// Error if rank 0 has ended.
  std::optional<std::vector<std::byte>> hear(std::chrono::milliseconds limit);

 private:
  MakeLink make_link_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<Link>> listeners_;
  std::vector<std::byte> last_;
  std::unique_ptr<LinkReader> reader_;
};

}  // namespace troupe
