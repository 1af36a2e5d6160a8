#include "troupe/transport/hierarchy/stage_queue.hpp"

#include <algorithm>
#include <vector>

namespace troupe::hierarchy {

std::shared_ptr<StagedCollective> StageQueue::add(Stages stages, ProgressListener on_progress) {
  std::lock_guard lock(mutex_);
  abort_.check();
  auto added =
      std::make_shared<StagedCollective>(StagedCollective{next_number_++, std::move(on_progress), std::move(stages)});
  begin_stage(*added);
  pending_.push_back(added);
  return added;
}

bool StageQueue::advance(const StagedCollective& collective) {
  std::vector<ProgressListener> completed;
  {
    std::lock_guard lock(mutex_);
    abort_.check();
    for (const auto& pending : pending_) advance_one(*pending);
    std::erase_if(pending_, [&](const auto& pending) {
      if (pending->complete()) completed.push_back(pending->on_progress);
      return pending->complete();
    });
  }
  // Their stages are over and tell no owner any more. The caller may be one of several owners of its collective.
  for (const auto& listener : completed)
    if (listener) listener();
  return collective.complete();
}

void StageQueue::fail(const FailurePtr& failure) {
  if (!abort_.set(failure)) return;
  std::vector<ProgressListener> waiting;
  {
    std::lock_guard lock(mutex_);
    for (const auto& pending : pending_) waiting.push_back(pending->on_progress);
  }
  for (const auto& listener : waiting)
    if (listener) listener();
}

/// Begins the next stage that has something for this rank, if it is the turn of this collective.
void StageQueue::begin_stage(StagedCollective& collective) {
  auto& [number, on_progress, stages, stage, current] = collective;
  while (!current && stage < kStages && turns_[stage] == number) {
    ++turns_[stage];
    if (stages[stage])
      current = stages[stage]();
    else
      ++stage;
  }
}

void StageQueue::advance_one(StagedCollective& collective) {
  begin_stage(collective);
  while (collective.current && collective.current->advance()) {
    collective.current = nullptr;
    ++collective.stage;
    begin_stage(collective);
  }
  // Whoever lent the tensors counts their handles.
  if (collective.complete()) collective.stages = {};
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
