#include "troupe/transport/hierarchy/stage_queue.hpp"

#include <algorithm>
#include <vector>

namespace troupe::hierarchy {

std::shared_ptr<StagedCollective> StageQueue::add(Stages stages, std::size_t ranks) {
  std::lock_guard lock(mutex_);
  abort_.check();
  const auto listeners = std::make_shared<ProgressListeners>(ranks);
  auto added = std::make_shared<StagedCollective>(
      StagedCollective{next_number_++, std::move(stages), listeners, [listeners] { listeners->notify(); }});
  begin_stage(*added);
  pending_.push_back(added);
  return added;
}

bool StageQueue::advance(const StagedCollective& collective) {
  std::vector<ProgressListener> completed;
  bool is_complete = false;
  {
    std::lock_guard lock(mutex_);
    abort_.check();
    for (const auto& pending : pending_) advance_one(*pending);
    std::erase_if(pending_, [&](const auto& pending) {
      if (pending->complete()) completed.push_back(pending->on_progress);
      return pending->complete();
    });
    is_complete = collective.complete();
  }
  // The stages of the completed collectives are over and call no listener any more, so the ranks that wait for these
  // collectives are notified here. Other ranks than the caller may wait for the caller's collective, too.
  for (const auto& listener : completed) listener();
  return is_complete;
}

void StageQueue::fail(const FailurePtr& failure) {
  if (!abort_.set(failure)) return;
  std::vector<ProgressListener> waiting;
  {
    std::lock_guard lock(mutex_);
    for (const auto& pending : pending_) waiting.push_back(pending->on_progress);
  }
  for (const auto& listener : waiting) listener();
}

/// Begins the next stage in which this process has a part, if all earlier collectives have begun or skipped that stage.
/// Skips stages without a part of this process.
void StageQueue::begin_stage(StagedCollective& collective) {
  auto& [number, stages, listeners, on_progress, stage, current] = collective;
  while (!current && stage < kStages && turns_[stage] == number) {
    ++turns_[stage];
    if (!stages[stage]) {
      ++stage;
      continue;
    }
    current = stages[stage]();
    // Progress of the stage before listen() sets the listener is not lost, because the stage is advanced afterward: by
    // advance_one(), or, if add() has begun the stage, by the first advance() of the collective.
    current->listen(0, on_progress);
  }
}

void StageQueue::advance_one(StagedCollective& collective) {
  begin_stage(collective);
  while (collective.current && collective.current->advance()) {
    collective.current = nullptr;
    ++collective.stage;
    begin_stage(collective);
  }
  // The functions in `stages` hold the caller's tensors. The caller may check that no handle is left when the
  // collective is complete.
  if (collective.complete()) collective.stages = {};
}

bool StageQueue::remove(const StagedCollective& collective) {
  std::lock_guard lock(mutex_);
  std::erase_if(pending_, [&](const auto& pending) { return pending.get() == &collective; });
  return collective.complete();
}

void StageQueue::drop_stage(StagedCollective& collective) {
  std::lock_guard lock(mutex_);
  collective.current = nullptr;
}

std::string StageQueue::waits_for(const StagedCollective& collective) const {
  std::lock_guard lock(mutex_);
  if (collective.complete()) return "nothing";
  if (collective.current) return collective.current->waits_for();
  return "the collective before has not begun stage " + std::to_string(collective.stage + 1);
}

template <class Function>
auto StagedWork::or_give_up(Function function) {
  try {
    return function();
  } catch (...) {
    give_up_(failure_now());
    throw;
  }
}

StagedWork::StagedWork(std::shared_ptr<StageQueue> queue, Stages stages, GiveUp give_up, std::size_t ranks)
    : queue_(std::move(queue)), give_up_(std::move(give_up)) {
  or_give_up([&] { collective_ = queue_->add(std::move(stages), ranks); });
}

StagedWork::~StagedWork() {
  if (!queue_->remove(*collective_))
    give_up_(std::make_shared<Failure>(
        Failure{.kind = FailureKind::aborted, .what = "[communicator] a collective was given up half-way"}));
  queue_->drop_stage(*collective_);
}

bool StagedWork::advance(std::size_t /*local*/) {
  return or_give_up([&] { return queue_->advance(*collective_); });
}

}  // namespace troupe::hierarchy
