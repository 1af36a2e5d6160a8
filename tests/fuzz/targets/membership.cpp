#include "troupe/transport/membership/membership.hpp"

#include "troupe/tests/fuzz/frames.hpp"
#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// Signs of life, losses and departures of a process, as rank 0 or another one hears of them.
void membership(Input& input) {
  const int rank = input.byte() % 2;
  const auto link = std::make_shared<ScriptedLink>(read_frames(input));
  MembershipOptions options{.rank = rank, .describe = [](int of) { return "rank " + std::to_string(of); }};
  Membership membership(std::move(options), {{1 - rank, link}});
  link->wait_until_read();
}

}  // namespace troupe::fuzz
