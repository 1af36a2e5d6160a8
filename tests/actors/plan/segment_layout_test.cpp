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
  CHECK(parts == 10);  // of two replicas: a number that says whether the loss is finite, and four gradients
}

TEST_CASE("kernels on a device use up to four areas of scratch memory in turn, on the host one") {
  const Device device{DeviceType::cuda, 0}, host;
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const auto expect = [](const ScratchAreas& areas, std::size_t count, std::size_t bytes) {
    CHECK(areas.count == count);
    CHECK(areas.bytes == bytes);
  };
  expect(ScratchAreas::on(device, {}), 1, 0);
  expect(ScratchAreas::on(device, {0, 0}), 1, 0);
  expect(ScratchAreas::on(device, {0, 300, 40, 0, 0}), 2, 512);
  expect(ScratchAreas::on(device, {1, 2, 3, 4, 5, 6}), 6, 256);
  expect(ScratchAreas::on(device, std::vector<std::size_t>(20, 1)), 16, 256);
  expect(ScratchAreas::on(device, {100 * kMiB, 1, 1, 1}), 2, 100 * kMiB);
  expect(ScratchAreas::on(device, {300 * kMiB, 1, 1, 1}), 1, 300 * kMiB);
  expect(ScratchAreas::on(host, {0, 300, 40}), 1, 512);
}
