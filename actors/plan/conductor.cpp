#include "troupe/actors/plan/conductor.hpp"

#include "troupe/actors/run/function_task.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

void AllReduceTask::begin(const RunInfo&, std::function<void()> wake) {
  begun_->on_progress = std::move(wake);
}

bool AllReduceTask::advance(const Firing&) {
  if (!begun_->work->advance()) return false;
  begun_->work.reset();
  return true;
}

std::string AllReduceTask::waits_for() const {
  return begun_->work ? begun_->work->waits_for() : "nothing";
}

Conductor::Conductor(std::vector<std::shared_ptr<Communicator>> ranks, Device device)
    : ranks_(std::move(ranks)), device_(device) {}

ActorId Conductor::add_all_reduce(Plan& plan, int index, int replica, Device device, const TensorInfo& info) {
  PlanActor actor;
  actor.name = "all_reduce" + std::to_string(index) + "@" + std::to_string(replica);
  actor.role = ActorRole::collective;
  actor.device = device;
  actor.replica = replica;
  actor.outputs.push_back({kNone, info, {}, 0, {}});
  const auto begun = std::make_shared<BegunCollective>();
  actor.make_task = [begun] { return std::make_unique<AllReduceTask>(begun); };
  const auto id = plan.add(std::move(actor));
  if (collectives_.size() <= static_cast<std::size_t>(index)) collectives_.resize(index + 1);
  collectives_[index].push_back({id, replica, begun});
  return id;
}

TaskFactory Conductor::begin_task(std::size_t index) const {
  return function_task([ranks = ranks_, parts = collectives_[index]](const Firing& firing) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i].begun->work = ranks[parts[i].replica]->all_reduce(firing.inputs[i], parts[i].begun->on_progress);
  });
}

void Conductor::finish(Plan& plan) {
  constexpr std::int32_t kOrder = 0, kNext = 1;
  std::vector<ActorId> conductors;
  for (std::size_t index = 0; index < collectives_.size(); ++index) {
    if (collectives_[index].size() != ranks_.size())
      throw Error("conductor", "collective " + std::to_string(index) + " is known to " +
                                   std::to_string(collectives_[index].size()) + " of " + std::to_string(ranks_.size()) +
                                   " ranks");
    PlanActor actor;
    actor.name = "conductor" + std::to_string(index);
    actor.role = ActorRole::conductor;
    actor.device = device_;
    actor.outputs.resize(2);
    for (auto& output : actor.outputs) output.info = control_info();
    actor.make_task = begin_task(index);
    conductors.push_back(plan.add(std::move(actor)));
    for (const auto& part : collectives_[index]) {
      const auto bucket = plan.actors[part.actor].inputs.at(0);
      plan.connect(bucket.edge, conductors.back(), bucket.info, bucket.byte_offset);
      plan.connect(conductors.back(), kOrder, part.actor);
    }
  }
  // One after the other, and the first of a step after the last of the step before. Two slots there: an actor that
  // follows itself fires while it still holds the old token.
  for (std::size_t index = 0; index < conductors.size(); ++index) {
    const bool last = index + 1 == conductors.size();
    const auto next = conductors[last ? 0 : index + 1];
    plan.connect(plan.edge_of(conductors[index], kNext, last ? 2 : 1, last ? 1 : 0), next, control_info(), 0);
  }
}

}  // namespace troupe
