#include "troupe/actors/collective/collective_tasks.hpp"

#include <cstring>

#include "troupe/actors/task/spawn_context.hpp"

namespace troupe {

void CollectiveTask::begin(const RunInfo&, std::function<void()> wake) {
  begun_->on_progress = std::move(wake);
}

bool CollectiveTask::fire(const Firing& firing) {
  origin_.step = firing.step;
  begun_->work->set_origin(&origin_);
  return advance(firing);
}

bool CollectiveTask::advance(const Firing& firing) {
  // Complete or failed, it must not keep the tensor, which is returned to its producer next.
  auto work = std::move(begun_->work);
  if (!work->advance()) {
    begun_->work = std::move(work);
    return false;
  }
  if (begun_->gathered) std::memcpy(firing.outputs[0].mutable_raw(), begun_->gathered.raw(), begun_->gathered.bytes());
  return true;
}

void CollectiveTask::skip(const FailurePtr&) {
  begun_->work.reset();
}

std::string CollectiveTask::waits_for() const {
  return begun_->work ? begun_->work->waits_for() : "nothing";
}

bool BeginCollectiveTask::fire(const Firing& firing) {
  try {
    for (std::size_t i = 0; i < ranks_.size(); ++i) begin_for(ranks_[i], firing.inputs[i]);
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

void BeginCollectiveTask::begin_for(const Rank& rank, const Tensor& input) const {
  auto& [on_progress, work, gathered] = *rank.begun;
  if (kind_ == Kind::all_reduce) {
    work = rank.communicator->all_reduce(input, on_progress);
    return;
  }
  // The place where it goes is that of an actor which has not fired yet.
  if (!gathered) gathered = Tensor(Shape{rank.communicator->size() * input.elements()}, input.dtype());
  work = rank.communicator->all_gather(input, gathered, on_progress);
}

void BeginCollectiveTask::skip(const FailurePtr& failure) {
  for (const auto& rank : ranks_) rank.communicator->leave(failure);
}

const std::shared_ptr<BegunCollective>& SpawnContext::begun(const std::string& communicator, std::int64_t index,
                                                            std::int64_t rank) {
  auto& entry = begun_[{communicator, index, rank}];
  if (!entry) entry = std::make_shared<BegunCollective>();
  return entry;
}

std::unique_ptr<Task> make_collective_task(const PlanActor& actor, SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  return std::make_unique<CollectiveTask>(
      context.begun(actor.task.subject, attributes.integer("index"), attributes.integer("rank")),
      Failure{.rank = context.process, .replica = actor.replica, .actor = actor.name});
}

namespace {

std::unique_ptr<Task> make_begin_task(BeginCollectiveTask::Kind kind, const PlanActor& actor, SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  std::vector<BeginCollectiveTask::Rank> ranks;
  for (auto rank : attributes.list("ranks"))
    ranks.push_back({context.communicator(actor.task.subject, rank),
                     context.begun(actor.task.subject, attributes.integer("index"), rank)});
  return std::make_unique<BeginCollectiveTask>(
      kind, std::move(ranks), Failure{.rank = context.process, .replica = actor.replica, .actor = actor.name});
}

}  // namespace

std::unique_ptr<Task> make_begin_all_reduce_task(const PlanActor& actor, SpawnContext& context) {
  return make_begin_task(BeginCollectiveTask::Kind::all_reduce, actor, context);
}

std::unique_ptr<Task> make_begin_all_gather_task(const PlanActor& actor, SpawnContext& context) {
  return make_begin_task(BeginCollectiveTask::Kind::all_gather, actor, context);
}

}  // namespace troupe
