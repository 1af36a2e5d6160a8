#include "troupe/actors/run/collective_tasks.hpp"

#include "troupe/actors/run/spawn_context.hpp"

namespace troupe {

void AllReduceTask::begin(const RunInfo&, std::function<void()> wake) {
  begun_->on_progress = std::move(wake);
}

bool AllReduceTask::fire(const Firing& firing) {
  origin_.step = firing.step;
  begun_->work->set_origin(&origin_);
  return advance(firing);
}

bool AllReduceTask::advance(const Firing&) {
  // Complete or failed, it must not keep the tensor, which is returned to its producer next.
  auto work = std::move(begun_->work);
  if (work->advance()) return true;
  begun_->work = std::move(work);
  return false;
}

void AllReduceTask::skip(const FailurePtr&) {
  begun_->work.reset();
}

std::string AllReduceTask::waits_for() const {
  return begun_->work ? begun_->work->waits_for() : "nothing";
}

bool BeginAllReduceTask::fire(const Firing& firing) {
  try {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      ranks_[i].begun->work = ranks_[i].communicator->all_reduce(firing.inputs[i], ranks_[i].begun->on_progress);
  } catch (const Aborted&) {
    throw;
  } catch (...) {
    // Begun for some ranks, not for all: nobody must wait for the rest.
    origin_.step = firing.step;
    const auto failure = current_failure(origin_);
    for (const auto& rank : ranks_) rank.communicator->abort(failure);
    throw Aborted(failure);
  }
  return true;
}

void BeginAllReduceTask::skip(const FailurePtr& failure) {
  for (const auto& rank : ranks_) rank.communicator->leave(failure);
}

std::unique_ptr<Task> make_all_reduce_task(const PlanActor& actor, SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  return std::make_unique<AllReduceTask>(
      context.begun(actor.task.subject, attributes.integer("index"), attributes.integer("rank")),
      Failure{.rank = context.process, .replica = actor.replica, .actor = actor.name});
}

std::unique_ptr<Task> make_begin_all_reduce_task(const PlanActor& actor, SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  std::vector<BeginAllReduceTask::Rank> ranks;
  for (auto rank : attributes.list("ranks"))
    ranks.push_back({context.communicator(actor.task.subject, rank),
                     context.begun(actor.task.subject, attributes.integer("index"), rank)});
  return std::make_unique<BeginAllReduceTask>(
      std::move(ranks), Failure{.rank = context.process, .replica = actor.replica, .actor = actor.name});
}

}  // namespace troupe
