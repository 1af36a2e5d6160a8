#include "troupe/transport/membership/agreement.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/fuzz/frames.hpp"
#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// What a process says that compares with this one, rank 0 or another, what both are about to do.
void agreement(Input& input) {
  const int rank = input.byte() % 2;
  const auto link = std::make_shared<ScriptedLink>(read_frames(input));
  const auto lost = [] { return std::make_shared<Failure>(Failure{.what = "gone"}); };
  AgreementRound round(rank, {{1 - rank, link}}, std::chrono::seconds(10), lost, [](int) { return false; });
  try {
    round.agree("plan", 7, [] { return "one\ntwo"; });
  } catch (const Error&) {
    // They differ, or the other one is gone.
  }
}

}  // namespace troupe::fuzz
