#include "troupe/actors/plan/check_plan.hpp"

#include "troupe/actors/plan/grain.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The error of check_plan for a chain of three actors, source, op and sink, that was changed after it was grouped.
std::string refusal(const std::function<void(Plan&)>& change) {
  std::vector<float> record;
  auto plan = split(chain_plan(1, 5, record));
  change(plan);
  try {
    check_plan(plan);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a plan is checked before anything is spawned, and what is wrong is named") {
  CHECK(refusal([](Plan&) {}).empty());
  CHECK_THAT(refusal([](Plan& plan) { plan.segments.clear(); }), Contains("[plan] has no segments"));
  CHECK_THAT(refusal([](Plan& plan) { plan.edges[0].consumers.clear(); }), Contains("edge 'source' has no consumer"));
  CHECK_THAT(refusal([](Plan& plan) { plan.edges[0].capacity = 0; }),
             Contains("edge 'source' cannot have 0 slots and 0 tokens"));
  CHECK_THAT(refusal([](Plan& plan) { plan.edges[0].initial_tokens = 2; }), Contains("1 slots and 2 tokens"));
  CHECK(refusal([](Plan& plan) { plan.edges[0].capacity = 65'536; }).empty());
  CHECK_THAT(refusal([](Plan& plan) { plan.edges[0].capacity = 65'537; }),
             Contains("edge 'source' can have at most 65536 slots, not 65537"));
  CHECK_THAT(refusal([](Plan& plan) { plan.actors[1].name.clear(); }), Contains("[plan] an actor needs a name"));
  CHECK_THAT(refusal([](Plan& plan) { plan.actors[1].name = "two\nlines"; }), Contains("has the character 0x0a"));
  CHECK_THAT(refusal([](Plan& plan) { plan.actors[1].place.process = -1; }), Contains("cannot be in process -1"));
  CHECK_THAT(refusal([](Plan& plan) { plan.actors[1].place.device.index = -3; }), Contains("cannot be on cpu:-3"));
  CHECK_THAT(refusal([](Plan& plan) { plan.actors[2].name = plan.actors[0].name; }),
             Contains("two actors have the name 'source'"));
  CHECK_THAT(refusal([](Plan& plan) { plan = Plan(); }), Contains("[plan] has no actors"));
  CHECK_THAT(refusal([](Plan& plan) { plan.actors[1].outputs[0].alias_of = 1; }),
             Contains("works in place on input 1, which it does not have"));
  CHECK_THAT(refusal([](Plan& plan) {
               plan.actors[0].role = ActorRole::conductor;
               plan.actors[1].role = ActorRole::collective;
               plan.actors[1].place.process = 1;
             }),
             Contains("is in another process than its conductor 'source'"));
  CHECK_THAT(refusal([](Plan& plan) {
               plan.actors[1].make_task = nullptr;
               plan.actors[1].task.kind = "op";
             }),
             Contains("is an op but does not say which"));
  CHECK_THAT(refusal([](Plan& plan) { plan.actors[1].make_task = nullptr; }), Contains("has nothing to do"));
  CHECK_THAT(refusal([](Plan& plan) {
               plan.actors[1].inputs[0].parameter = ParameterRef{"w", 0};
             }),
             Contains("refers to parameter 'w' of replica 0, which the plan does not have"));
}
