#include "troupe/transport/hierarchy/stage_queue.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::hierarchy {

std::shared_ptr<StagedCollective> StageQueue::add(Stages stages, std::size_t ranks) {
  std::lock_guard lock(mutex_);
  abort_.check();
  auto added = make(std::move(stages), ranks);
  try {
    begin_stage(*added);
  } catch (const Departed& departed) {
    leave_rest(*added, departed.failure());
  }
  pending_.push_back(added);
  return added;
}

std::shared_ptr<StagedCollective> StageQueue::make(Stages stages, std::size_t ranks) {
  const auto listeners = std::make_shared<ProgressListeners>(ranks);
  return std::make_shared<StagedCollective>(
      StagedCollective{next_number_++, std::move(stages), listeners, [listeners] { listeners->notify(); }});
}

bool StageQueue::advance(const StagedCollective& collective) {
  std::vector<ProgressListener> over;
  bool is_complete = false;
  FailurePtr failure;
  {
    std::lock_guard lock(mutex_);
    abort_.check();
    for (const auto& pending : pending_) advance_one(*pending);
    std::erase_if(pending_, [&](const auto& pending) {
      if (pending->over() && !std::exchange(pending->told, true)) over.push_back(pending->on_progress);
      return pending->complete();
    });
    is_complete = collective.complete();
    failure = collective.failure;
  }
  // The stages of these collectives are over and call no listener any more, so the ranks that wait for the collectives
  // are notified here. Other ranks than the caller may wait for the caller's collective, too.
  for (const auto& listener : over) listener();
  if (failure) throw Departed(failure);
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

void StageQueue::leave(const FailurePtr& failure) {
  std::lock_guard lock(mutex_);
  if (abort_.is_set()) return;
  const auto leaving = make({}, 0);
  leaving->failure = failure;
  begin_stage(*leaving);
  if (!leaving->complete()) pending_.push_back(leaving);
}

/// Begins the next stage in which this process has a part, if all earlier collectives have begun or skipped that stage.
/// Skips stages without a part of this process. If the collective has failed, leaves the communicators of every stage
/// instead.
void StageQueue::begin_stage(StagedCollective& collective) {
  auto& [number, stages, listeners, on_progress, stage, current, failure, told] = collective;
  while (!current && stage < kStages && turns_[stage] == number) {
    ++turns_[stage];
    if (failure) {
      if (leave_stages_[stage]) leave_stages_[stage](failure);
      ++stage;
      continue;
    }
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

/// Fails a collective whose current stage has thrown Departed, and drops the handles of the caller's tensors.
void StageQueue::leave_rest(StagedCollective& collective, const FailurePtr& failure) {
  collective.failure = failure;
  collective.current = nullptr;
  collective.stages = {};
  ++collective.stage;
  begin_stage(collective);
}

void StageQueue::advance_one(StagedCollective& collective) {
  try {
    begin_stage(collective);
    while (collective.current && collective.current->advance()) {
      collective.current = nullptr;
      ++collective.stage;
      begin_stage(collective);
    }
  } catch (const Departed& departed) {
    leave_rest(collective, departed.failure());
  }
  // The functions in `stages` hold the caller's tensors. The caller may check that no handle is left when the
  // collective is complete.
  if (collective.complete()) collective.stages = {};
}

bool StageQueue::remove(const StagedCollective& collective) {
  std::lock_guard lock(mutex_);
  if (!collective.failure) std::erase_if(pending_, [&](const auto& pending) { return pending.get() == &collective; });
  return collective.over();
}

void StageQueue::drop_stage(StagedCollective& collective) {
  std::lock_guard lock(mutex_);
  collective.current = nullptr;
}

std::string StageQueue::waits_for(const StagedCollective& collective) const {
  std::lock_guard lock(mutex_);
  if (collective.over()) return "nothing";
  if (collective.current) return collective.current->waits_for();
  return "the collective before has not begun stage " + std::to_string(collective.stage + 1);
}

template <class Function>
auto StagedWork::or_give_up(Function function) {
  try {
    return function();
  } catch (const Departed&) {
    throw;
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
