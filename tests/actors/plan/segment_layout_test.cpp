#include "troupe/actors/plan/segment_layout.hpp"

#include "troupe/ops/core/allocator.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Plan mirrored_plan(const Dataset& data) {
  const auto spec = small_spec();
  return Mirrored(two_places()).training_plan({spec, data, 0, {names::kLoss}});
}

}  // namespace

TEST_CASE("inner values of a segment share memory, values between segments have slots") {
  std::vector<float> record;
  const auto plan = fuse(chain_plan(20, 1, record));
  const auto layout = lay_out(plan, plan.segments[0]);
  CHECK(layout.ports.empty());
  CHECK(layout.outputs.empty());
  CHECK(layout.arena_bytes == 2 * Allocator::kAlignment);

  const auto alone = split(chain_plan(20, 1, record, 3));
  std::size_t slots = 0;
  for (const auto& segment : alone.segments) slots += lay_out(alone, segment).slot_bytes(alone);
  CHECK(slots == 21 * 3 * Allocator::kAlignment);
}

TEST_CASE("gradients are computed in their place of the bucket") {
  const auto plan = fuse(mirrored_plan(small_dataset(8).batch(4)));
  int parts = 0;
  for (const auto& segment : plan.segments) {
    const auto layout = lay_out(plan, segment);
    for (const auto& task : layout.tasks) {
      if (plan.actors[task.actor].name.find("pack") == std::string::npos) continue;
      for (const auto& part : task.inputs) {
        CHECK(part.kind == ArgumentPlace::Kind::output);
        CHECK(part.index == task.outputs[0].index);
        ++parts;
      }
    }
  }
  CHECK(parts == 10);  // of two replicas: a verdict on the loss and four gradients
}
