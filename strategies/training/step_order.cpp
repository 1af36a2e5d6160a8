#include "troupe/strategies/training/step_order.hpp"

#include <utility>

namespace troupe {

void StepOrder::begin(std::int64_t first_step) {
  next_ = first_step;
  early_.clear();
}

void StepOrder::add(StepMetrics step) {
  const auto number = step.step;
  if (number >= next_) early_.try_emplace(number, std::move(step));
}

void StepOrder::end(std::int64_t end_step) {
  for (auto step = next_; step < end_step; ++step) add({.step = step});
}

std::vector<StepMetrics> StepOrder::take() {
  std::vector<StepMetrics> taken;
  for (; !early_.empty() && early_.begin()->first == next_; ++next_)
    taken.push_back(std::move(early_.extract(early_.begin()).mapped()));
  return taken;
}

}  // namespace troupe
