#include "troupe/transport/descriptors.hpp"

#include <sys/resource.h>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"
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

TEST_CASE("an endpoint without file descriptors for its context is an error") {
  const FewDescriptors limit(8);
  CHECK_THROWS_WITH(make_zeromq_endpoint({}), Contains("file descriptor"));
}
