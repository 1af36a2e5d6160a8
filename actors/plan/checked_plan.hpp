#pragma once

#include <cstdint>
#include <memory>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

struct SegmentLayout;

/// A plan that can run: complete, proved live, and laid out. Every CheckedPlan has passed the checks of its
/// constructor, so a function that takes one checks nothing again. A handle: copies share the plan, which never
/// changes. Thread-safe.
class CheckedPlan {
 public:
  /// Checks the plan (check_plan), proves it live (check_liveness) and lays out its segments, once. Throws Error that
  /// names the actor or edge and the rule. Implicit, so that a Plan can be spawned as it is.
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
