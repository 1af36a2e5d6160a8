#include "troupe/actors/collective/device_collective_tasks.hpp"

#include "troupe/actors/task/spawn_context.hpp"

namespace troupe {

void DeviceCollectiveTask::begin(const RunInfo&, std::function<void()> wake) {
  begun_->on_progress = std::move(wake);
}

bool DeviceCollectiveTask::fire(const Firing& firing) {
  return advance(firing);
}

bool DeviceCollectiveTask::advance(const Firing& firing) {
  if (!begun_->work->advance()) return false;
  auto& stream = firing.context.stream;
  stream.wait(begun_->work->done(begun_->local));
  begun_->work.reset();
  if (begun_->gathered) copy(stream, begun_->gathered, firing.outputs[0]);
  return true;
}

void DeviceCollectiveTask::skip(const FailurePtr&) {
  begun_->work.reset();
}

std::string DeviceCollectiveTask::waits_for() const {
  return begun_->work ? begun_->work->waits_for() : "nothing";
}

bool BeginDeviceCollectiveTask::fire(const Firing& firing) {
  try {
    const auto work = begin_on(firing.inputs, firing.context.stream.record());
    for (const auto& rank : ranks_) rank->work = work;
  } catch (const Aborted&) {
    throw;
  } catch (...) {
    origin_.step = firing.step;
    const auto failure = current_failure(origin_);
    communicator_->abort(failure);
    throw Aborted(failure);
  }
  return true;
}

std::shared_ptr<DeviceWork> BeginDeviceCollectiveTask::begin_on(std::span<const Tensor> inputs,
                                                                const Event& ready) const {
  std::vector<DevicePart> parts;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    auto& gathered = ranks_[i]->gathered;
    // The place where it goes is that of an actor which has not fired yet.
    if (kind_ == Kind::all_gather && !gathered)
      gathered = Tensor(Shape{communicator_->size() * inputs[i].elements()}, inputs[i].dtype(), inputs[i].device());
    parts.push_back({inputs[i], gathered, ready, ranks_[i]->on_progress});
  }
  return kind_ == Kind::all_reduce ? communicator_->all_reduce(parts) : communicator_->all_gather(parts);
}

void BeginDeviceCollectiveTask::skip(const FailurePtr& failure) {
  communicator_->leave(failure);
}

const std::shared_ptr<BegunDeviceCollective>& SpawnContext::begun_on_device(const std::string& communicator,
                                                                            std::int64_t index, std::int64_t rank) {
  auto& entry = begun_on_device_[{communicator, index, rank}];
  if (!entry) entry = std::make_shared<BegunDeviceCollective>();
  return entry;
}

std::unique_ptr<Task> make_device_collective_task(const PlanActor& actor, SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  return std::make_unique<DeviceCollectiveTask>(
      context.begun_on_device(actor.task.subject, attributes.integer("index"), attributes.integer("rank")));
}

namespace {

std::unique_ptr<Task> make_begin_task(BeginDeviceCollectiveTask::Kind kind, const PlanActor& actor,
                                      SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  std::vector<std::shared_ptr<BegunDeviceCollective>> ranks;
  for (auto rank : attributes.list("ranks")) {
    ranks.push_back(context.begun_on_device(actor.task.subject, attributes.integer("index"), rank));
    ranks.back()->local = ranks.size() - 1;
  }
  return std::make_unique<BeginDeviceCollectiveTask>(
      kind, context.device_communicator(actor.task.subject), std::move(ranks),
      Failure{.rank = context.process, .replica = actor.replica, .actor = actor.name});
}

}  // namespace

std::unique_ptr<Task> make_begin_device_all_reduce_task(const PlanActor& actor, SpawnContext& context) {
  return make_begin_task(BeginDeviceCollectiveTask::Kind::all_reduce, actor, context);
}

std::unique_ptr<Task> make_begin_device_all_gather_task(const PlanActor& actor, SpawnContext& context) {
  return make_begin_task(BeginDeviceCollectiveTask::Kind::all_gather, actor, context);
}

}  // namespace troupe
