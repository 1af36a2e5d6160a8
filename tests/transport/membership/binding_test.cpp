#include "troupe/transport/membership/binding.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

ClusterOptions options_at(const std::string& rendezvous, const std::string& bind = {}, int rank = 0) {
  ClusterOptions options;
  options.job = {.rank = rank, .world_size = 2, .rendezvous = rendezvous};
  options.bind = bind;
  return options;
}

using Addresses = std::vector<std::string>;

}  // namespace

TEST_CASE("rank 0 listens at the loopback address to which the others are told to come") {
  CHECK(binding_of(options_at("127.0.0.2:3000"), false).rendezvous == Addresses{"tcp://127.0.0.2:3000"});
  CHECK(binding_of(options_at("localhost:3000"), false).rendezvous == Addresses{"tcp://127.0.0.1:3000"});
  CHECK(binding_of(options_at("127.0.0.2:3000", "127.0.0.1"), false).rendezvous ==
        Addresses{"tcp://127.0.0.1:3000", "tcp://127.0.0.2:3000"});
  CHECK(binding_of(options_at("127.0.1.1:3000", "any"), true).rendezvous == Addresses{"tcp://*:3000"});
}

TEST_CASE("listening beyond loopback needs a secret, and the error says how to make one") {
  for (const std::string bind : {"any", "192.0.2.1", "0.0.0.0", "eth0"}) {
    CHECK_THROWS_WITH(binding_of(options_at("127.0.0.1:3000", bind), false),
                      Contains("[cluster] --bind " + bind) && Contains("needs a secret") &&
                          Contains("openssl rand -hex 32") && Contains("--secret-file") && Contains("TROUPE_SECRET"));
    CHECK_NOTHROW(binding_of(options_at("127.0.0.1:3000", bind), true));
  }
  CHECK_NOTHROW(binding_of(options_at("127.0.0.1:3000", "127.0.0.1"), false));
  auto alone = options_at("", "any");
  alone.job.world_size = 1;
  CHECK_NOTHROW(binding_of(alone, false));
}

TEST_CASE("addresses that no rank could reach are refused by name") {
  CHECK_THROWS_WITH(binding_of(options_at("192.0.2.1:3000"), true),
                    Contains("192.0.2.1:3000 lies beyond this machine"));
  CHECK_THROWS_WITH(binding_of(options_at("no-host.invalid:3000"), true), Contains("'no-host.invalid'"));
  CHECK_THROWS_WITH(binding_of(options_at("127.0.0.1:3000", "::1"), true), Contains("--bind ::1") && Contains("IPv6"));
}
