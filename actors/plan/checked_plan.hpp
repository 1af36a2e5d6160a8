#pragma once

#include <cstdint>
#include <memory>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

struct SegmentLayout;

/// A plan that can run: complete, proved live, and with a memory layout for every segment. Every CheckedPlan has passed
/// the checks of its constructor, so a function that takes one checks nothing again. The class is a handle: copies
/// share the plan, which never changes. Thread-safe.
class CheckedPlan {
 public:
  /// Checks the plan (check_plan), proves it live (check_liveness) and lays out the memory of its segments, once.
  /// Throws Error that names what breaks a rule, such as an actor or edge, and the rule. The constructor is implicit,
  /// so that a function that takes a CheckedPlan also accepts a Plan.
  CheckedPlan(Plan plan);

  const Plan& operator*() const;
  const Plan* operator->() const { return &**this; }
  /// The layout of PlanSegment number `segment`.
  const SegmentLayout& layout(std::int32_t segment) const;

 private:
  struct LaidOutPlan;

  std::shared_ptr<const LaidOutPlan> laid_out_;
};

}  // namespace troupe
