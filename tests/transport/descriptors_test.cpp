#include "troupe/transport/descriptors.hpp"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"
#include "troupe/tests/transport/zeromq/stranger.hpp"
#include "troupe/transport/endpoint.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Lowers the limit of open file descriptors of this process, and restores it.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t count) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low{count, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("too few file descriptors are an error with their number before the first socket is made") {
  CHECK_NOTHROW(require_descriptors(8, "test", "a test"));
  const FewDescriptors limit(24);
  CHECK_THROWS_WITH(
      require_descriptors(100, "test", "a test"),
      Contains("[test] a test needs at least 100 file descriptors") && Contains("of the 24") && Contains("ulimit -n"));
  CHECK_THROWS_WITH(join_cluster(options_of(0, 3, "127.0.0.1:29400")),
                    Contains("[cluster] rank 0 of 3 needs at least 58 file descriptors"));
}

TEST_CASE("an endpoint raises the limit of file descriptors before they are used up") {
  std::atomic<int> lines{0};
  const auto endpoint = make_zeromq_endpoint({.on_stranger = [&](const std::string& line) {
    if (line.find("is nearly reached: raised to") != std::string::npos) ++lines;
  }});
  const int next = eventfd(0, EFD_CLOEXEC);
  REQUIRE(next >= 0);
  close(next);
  const auto limit = static_cast<rlim_t>(next) + 2;
  const FewDescriptors few(limit);
  CHECK(eventually([&] { return lines > 0; }));
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  CHECK(now.rlim_cur >= limit + 64);
  CHECK(Stranger(endpoint->address().ipc).connected());
}

TEST_CASE("an endpoint without file descriptors for its context is an error") {
  const FewDescriptors limit(8);
  CHECK_THROWS_WITH(make_zeromq_endpoint({}), Contains("file descriptor"));
}
