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

/// What rank 0 tells the expendable ranks, in order; one that comes back hears the last. Thread-safe at rank 0;
/// elsewhere one thread hears.
class Announcements {
 public:
  using MakeLink = std::function<std::shared_ptr<Link>(int rank)>;

  /// `link` makes this process's end of a link: to the expendable ranks at rank 0, to rank 0 there.
  explicit Announcements(MakeLink link) : make_link_(std::move(link)) {}

  /// At rank 0: tells a rank what is announced from now on, and what was last. One that has come back gets a new link.
  void add_listener(int rank);
  void announce(std::vector<std::byte> bytes);

  /// The next announcement, or nothing if none comes within the limit. Throws Error if rank 0 is gone.
  std::optional<std::vector<std::byte>> hear(std::chrono::milliseconds limit);

 private:
  MakeLink make_link_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<Link>> listeners_;
  std::vector<std::byte> last_;
  std::unique_ptr<LinkReader> reader_;
};

}  // namespace troupe
