#include "troupe/strategies/training/step_order.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void StepQueue::push(StepMetrics& step) {
  if (count_ == steps_.size()) {
    std::rotate(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(first_), steps_.end());
    first_ = 0;
    // The new elements are copies of `step`, so each already owns all the memory that later steps need.
    steps_.resize(std::max(kSteps, 2 * count_), step);
  }
  std::swap(steps_[(first_ + count_) % steps_.size()], step);
  ++count_;
}

void StepQueue::pop() {
  first_ = (first_ + 1) % steps_.size();
  --count_;
}

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

std::string StepOrder::missing() const {
  if (early_.empty()) return {};
  return "no replica has reported step " + std::to_string(next_) + ", but one has reported step " +
         std::to_string(early_.begin()->first);
}

std::vector<StepMetrics> StepOrder::take() {
  std::vector<StepMetrics> taken;
  for (; !early_.empty() && early_.begin()->first == next_; ++next_)
    taken.push_back(std::move(early_.extract(early_.begin()).mapped()));
  return taken;
}

}  // namespace troupe
