#include "troupe/actors/store/trainer_positions.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/name.hpp"

namespace troupe {

TrainingPosition TrainerPositions::of(const std::string& trainer) const {
  std::lock_guard lock(mutex_);
  const auto position = positions_.find(trainer);
  return position == positions_.end() ? TrainingPosition{} : position->second;
}

void TrainerPositions::set(const std::string& trainer, const TrainingPosition& position) {
  std::lock_guard lock(mutex_);
  positions_[trainer] = position;
}

std::map<std::string, TrainingPosition> TrainerPositions::all() const {
  std::lock_guard lock(mutex_);
  return positions_;
}

bool TrainerPositions::has_other(const std::string& trainer) const {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(trainers_, [&](const auto& name) { return name != trainer; }) ||
         std::ranges::any_of(positions_, [&](const auto& entry) { return entry.first != trainer; });
}

std::shared_ptr<const std::string> TrainerPositions::enter(const std::string& name) {
  // States of parameters have the name of the trainer at the end of theirs.
  if (!name.empty()) expect_name("trainer", "a trainer", name, kMaxNameBytes / 2);
  std::lock_guard lock(mutex_);
  auto entered = name;
  while (name.empty() && (entered.empty() || trainers_.contains(entered))) {
    const auto number = ++unnamed_;
    entered = number == 1 ? ParameterStore::kTrainer : ParameterStore::kTrainer + ("_" + std::to_string(number));
  }
  if (!trainers_.insert(entered).second)
    throw Error("trainer", "another trainer on the same parameters is named '" + entered + "'; give each its own name");
  const auto leave = [this](const std::string* left) {
    const std::unique_ptr<const std::string> owned(left);
    std::lock_guard leaving(mutex_);
    trainers_.erase(*owned);
  };
  return {new std::string(entered), leave};
}

}  // namespace troupe
