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

}  // namespace

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
