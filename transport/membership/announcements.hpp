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

/// Announcements: bytes that rank 0 sends to the expendable ranks, without which the job goes on if they are lost. Each
/// such rank receives them in order. A process that has returned with the rank of a lost one first receives the last
/// announcement that was sent before its return. Thread-safe at rank 0; at another rank, one thread calls hear().
class Announcements {
 public:
  using MakeLink = std::function<std::shared_ptr<Link>(int rank)>;

  /// `link(rank)` makes this process's end of a link to `rank`: at rank 0 to an expendable rank, at another rank to
  /// rank 0.
  explicit Announcements(MakeLink link) : make_link_(std::move(link)) {}

  /// At rank 0: makes a rank a listener, and sends it the last announcement, if any. If the rank is a listener already,
  /// because another process has returned with the rank, replaces its link.
  void add_listener(int rank);
  /// At rank 0: sends an announcement to all listeners.
  void announce(std::vector<std::byte> bytes);

  /// At another rank: blocks until the next announcement arrives. Returns nothing if none arrives within the limit.
  /// Throws Error if the link to rank 0 has failed.
  std::optional<std::vector<std::byte>> hear(std::chrono::milliseconds limit);

 private:
  MakeLink make_link_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<Link>> listeners_;
  std::vector<std::byte> last_;
  std::unique_ptr<LinkReader> reader_;
};

}  // namespace troupe
