#include "troupe/actors/control/root_cause.hpp"

#include <memory>

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

FailurePtr failure_of(FailureKind kind, std::int64_t step, int replica, const std::string& actor = "an actor") {
  return std::make_shared<const Failure>(Failure{.replica = replica, .actor = actor, .step = step, .kind = kind});
}

}  // namespace

TEST_CASE("the root cause is the failure of the earliest step, in every order of the reports") {
  const auto sample = failure_of(FailureKind::invalid_sample, 3, 0), op = failure_of(FailureKind::op_error, 5, 0);
  for (const auto& root : {root_cause(root_cause(nullptr, sample), op), root_cause(root_cause(nullptr, op), sample)}) {
    CHECK(root->step == 3);
    CHECK(root->kind == FailureKind::invalid_sample);
  }
}

TEST_CASE("a failure that belongs to no step stays the root cause") {
  const auto sample = failure_of(FailureKind::invalid_sample, 3, 0);
  for (const auto& first : {failure_of(FailureKind::part_died, 9, 0), failure_of(FailureKind::op_error, 9, 0, "")}) {
    CHECK(root_cause(first, sample)->step == 9);
    CHECK(root_cause(sample, first)->step == 3);
  }
}
