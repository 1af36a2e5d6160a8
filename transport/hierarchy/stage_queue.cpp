#include "troupe/transport/hierarchy/stage_queue.hpp"

#include <algorithm>

namespace troupe::hierarchy {

std::shared_ptr<StagedCollective> StageQueue::add(Stages stages) {
  std::lock_guard lock(mutex_);
  pending_.push_back(std::make_shared<StagedCollective>(StagedCollective{next_number_++, std::move(stages)}));
  return pending_.back();
}

bool StageQueue::advance(const StagedCollective& collective) {
  std::lock_guard lock(mutex_);
  for (const auto& pending : pending_) advance_one(*pending);
  std::erase_if(pending_, [](const auto& pending) { return pending->complete(); });
  return collective.complete();
}

void StageQueue::advance_one(StagedCollective& collective) {
  auto& [number, stages, stage, current] = collective;
  for (; stage < kStages; ++stage) {
    if (!current) {
      if (turns_[stage] != number) return;
      ++turns_[stage];
      if (stages[stage]) current = stages[stage]();
    }
    if (current && !current->advance()) return;
    current = nullptr;
  }
  // Whoever lent the tensors counts their handles.
  stages = {};
}

bool StageQueue::remove(const StagedCollective& collective) {
  std::lock_guard lock(mutex_);
  std::erase_if(pending_, [&](const auto& pending) { return pending.get() == &collective; });
  return collective.complete();
}

std::string StageQueue::waits_for(const StagedCollective& collective) const {
  std::lock_guard lock(mutex_);
  if (collective.complete()) return "nothing";
  if (collective.current) return collective.current->waits_for();
  return "the collective before has not begun stage " + std::to_string(collective.stage + 1);
}

}  // namespace troupe::hierarchy
