#include "troupe/actors/segment/executor_memory.hpp"

#include <utility>

namespace troupe {

namespace {

Tensor bytes_on(Device device, std::size_t bytes) {
  return Tensor(Shape{static_cast<std::int64_t>(bytes)}, DType::uint8, device);
}

}  // namespace

Tensor arena_of(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout) {
  const auto* largest = layout.producer_of_largest(plan);
  const auto& name = segment.name;
  return memory_for("inner values of " + name + ", the largest that of '" + (largest ? *largest : name) + "'",
                    [&] { return bytes_on(segment.place.device, layout.arena_bytes); });
}

void ScratchMemory::reserve(std::size_t bytes, const std::string& purpose) {
  if (memory_ && bytes <= memory_.bytes()) return;
  // A failed allocation leaves the memory as it is.
  memory_ = memory_for(purpose, [&] { return bytes_on(device_, bytes); });
}

ExecutorMemory::ExecutorMemory(const CheckedPlan& plan, const std::vector<std::int32_t>& segments,
                               std::vector<Tensor> shared_buffers)
    : buffers(std::move(shared_buffers)),
      scratch(std::make_shared<ScratchMemory>(plan->segments[segments.front()].place.device)) {
  auto largest = kNone;
  for (const auto segment : segments)
    if (shares_arena(*plan, plan->segments[segment], plan.layout(segment)) &&
        (largest == kNone || plan.layout(segment).arena_bytes > plan.layout(largest).arena_bytes))
      largest = segment;
  if (largest != kNone) arena = arena_of(*plan, plan->segments[largest], plan.layout(largest));
}

}  // namespace troupe
