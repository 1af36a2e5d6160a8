#include "troupe/transport/descriptors.hpp"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// File descriptors that are open until the object is destroyed. `missing` is the number that could not be opened.
class OpenedDescriptors {
 public:
  explicit OpenedDescriptors(int count) : missing(count) {
    for (; missing > 0; --missing) {
      const int descriptor = eventfd(0, EFD_CLOEXEC);
      if (descriptor < 0) return;
      descriptors_.push_back(descriptor);
    }
  }
  ~OpenedDescriptors() { std::ranges::for_each(descriptors_, close); }
  OpenedDescriptors(const OpenedDescriptors&) = delete;
  OpenedDescriptors& operator=(const OpenedDescriptors&) = delete;

  int missing;

 private:
  std::vector<int> descriptors_;
};

/// The number of free descriptors below which keep_descriptors() raises the limit, and the number that it adds.
constexpr rlim_t kFewDescriptors = 16, kAddedDescriptors = 64;

/// Returns the lowest free number of a file descriptor, or nothing if none is free. The numbers below it are in use.
/// Opens one descriptor for a moment: counting all free ones would take them from other threads.
std::optional<rlim_t> lowest_free_descriptor() {
  const int descriptor = eventfd(0, EFD_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  close(descriptor);
  return static_cast<rlim_t>(descriptor);
}

}  // namespace

std::optional<std::string> keep_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  const auto lowest = lowest_free_descriptor();
  if (lowest && *lowest + kFewDescriptors <= limit.rlim_cur) return std::nullopt;
  const auto before = limit.rlim_cur;
  limit.rlim_cur = std::min(limit.rlim_max, before + kAddedDescriptors);
  const auto number = std::to_string(before);
  if (limit.rlim_cur > before && setrlimit(RLIMIT_NOFILE, &limit) == 0)
    return "the limit of file descriptors, " + number + ", is nearly reached: raised to " +
           std::to_string(limit.rlim_cur);
  return "the limit of file descriptors, " + number +
         ", is nearly reached and cannot be raised: a further connection may end this process";
}

void require_descriptors(int count, const std::string& place, const std::string& purpose) {
  const OpenedDescriptors opened(count);
  if (opened.missing == 0) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  throw Error(place, purpose + " needs at least " + std::to_string(count) + " file descriptors, but only " +
                         std::to_string(count - opened.missing) + " of the " + std::to_string(limit.rlim_cur) +
                         " of this process are left: raise the limit to at least " +
                         std::to_string(limit.rlim_cur + static_cast<rlim_t>(opened.missing)) + " with `ulimit -n`");
}

}  // namespace troupe
