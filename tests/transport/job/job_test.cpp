#include "troupe/transport/job/job.hpp"

#include "troupe/tests/catch.hpp"
#include "troupe/tests/transport/job/settings.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("flags win, and the address alone completes what a launcher says") {
  const auto job = resolve(kTorchrun, {.rank = 1, .world_size = 2, .rendezvous = "h:1", .run_id = "mine"});
  CHECK(job == Job{1, 2, -1, -1, "h:1", "mine", "flags"});
  CHECK(resolve(kOpenMpi, {.rendezvous = "h:1"}).rendezvous == "h:1");
  CHECK(resolve(kOpenMpi, {.rendezvous = "h:1"}).source == "Open MPI");
  CHECK(to_string(job) == "rank 1 of 2 (flags), rendezvous h:1");
  CHECK_THROWS_WITH(resolve({}, {.rank = 1}), Contains("together"));
  CHECK_THROWS_WITH(resolve({}, {.rank = 2, .world_size = 2}), Contains("no rank 2"));
  CHECK_THROWS_WITH(resolve({}, {.rank = 0, .world_size = 0}), Contains("too small"));
  CHECK_THROWS_WITH(resolve({}, {.rank = 0, .world_size = 2}), Contains("where the ranks meet"));
  for (const auto* address : {"host", ":1", "host:", "host:0", "host:65536", "host:1x"})
    CHECK_THROWS_WITH(resolve({}, {.rank = 0, .world_size = 2, .rendezvous = address}), Contains("rendezvous"));
  for (const auto* address : {"[::1]:29400", "::1:29400"})
    CHECK_THROWS_WITH(resolve({}, {.rank = 0, .world_size = 2, .rendezvous = address}),
                      Contains(std::string("'") + address + "' is an IPv6 address"));
}

TEST_CASE("ranks of one job agree on an address, those of another have another") {
  const auto first = resolve(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_RANK", "0"}}));
  const auto second = resolve(kOpenMpi);
  CHECK(first.rendezvous == second.rendezvous);
  CHECK(first.run_id == second.run_id);
  CHECK(resolve(with(kOpenMpi, {{"PMIX_NAMESPACE", "1638400002"}})).rendezvous != first.rendezvous);
}
