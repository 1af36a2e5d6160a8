#include "troupe/actors/plan/checked_plan.hpp"

#include <utility>
#include <vector>

#include "troupe/actors/plan/check_plan.hpp"
#include "troupe/actors/plan/liveness.hpp"
#include "troupe/actors/plan/segment_layout.hpp"

namespace troupe {

struct CheckedPlan::LaidOutPlan {
  Plan plan;
  std::vector<SegmentLayout> layouts;  // by segment
};

CheckedPlan::CheckedPlan(Plan plan) {
  check_plan(plan);
  check_liveness(plan);
  std::vector<SegmentLayout> layouts;
  for (const auto& segment : plan.segments) layouts.push_back(lay_out(plan, segment));
  laid_out_ = std::make_shared<const LaidOutPlan>(LaidOutPlan{std::move(plan), std::move(layouts)});
}

const Plan& CheckedPlan::operator*() const {
  return laid_out_->plan;
}

const SegmentLayout& CheckedPlan::layout(std::int32_t segment) const {
  return laid_out_->layouts[static_cast<std::size_t>(segment)];
}

}  // namespace troupe
