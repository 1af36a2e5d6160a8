#include "troupe/actors/plan/conductor.hpp"

#include <algorithm>
#include <set>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Outputs of a conductor.
constexpr std::int32_t kBegun = 0, kNext = 1;

std::string at_process(const std::string& name, int process) {
  return process == 0 ? name : name + " of process " + std::to_string(process);
}

/// Whether the devices can do collectives among themselves.
bool are_devices_together(const std::vector<Place>& ranks) {
  return std::ranges::all_of(ranks, [&](const Place& place) {
    return !is_host(place.device) && place.device.type == ranks.front().device.type &&
           place.process == ranks.front().process;
  });
}

}  // namespace

Conductor::Conductor(Plan& plan, std::string communicator, std::vector<Place> ranks, AllReduceAlgorithm all_reduce)
    : plan_(plan),
      communicator_(std::move(communicator)),
      ranks_(std::move(ranks)),
      on_devices_(are_devices_together(ranks_)) {
  PlanCommunicator named{communicator_, {}, all_reduce};
  for (const auto& place : ranks_) {
    named.processes.push_back(place.process);
    if (on_devices_) named.devices.push_back(place.device);
  }
  plan_.communicators.push_back(std::move(named));
}

Place Conductor::place_of(int rank) const {
  const auto& place = ranks_.at(static_cast<std::size_t>(rank));
  return on_devices_ ? place : host_side(place);
}

ActorId Conductor::add_all_reduce(int index, int rank, const TensorInfo& info) {
  return add("all_reduce", index, rank, {.info = info, .alias_of = 0});
}

ActorId Conductor::add_all_gather(int index, int rank, const TensorInfo& info) {
  return add("all_gather", index, rank, {.info = info});
}

ActorId Conductor::add(const char* kind, int index, int rank, const PlanOutput& output) {
  PlanActor actor;
  actor.name = kind + std::to_string(index) + "@" + std::to_string(rank);
  actor.role = ActorRole::collective;
  actor.place = place_of(rank);
  actor.replica = rank;
  actor.outputs.push_back(output);
  actor.task = {(on_devices_ ? "device_" : "") + std::string(kind),
                communicator_,
                {{"index", std::int64_t{index}}, {"rank", std::int64_t{rank}}}};
  const auto id = plan_.add(std::move(actor));
  if (collectives_.size() <= static_cast<std::size_t>(index)) collectives_.resize(index + 1);
  collectives_[index].push_back({id, rank});
  return id;
}

ActorId Conductor::add_conductor(std::size_t index, int process) {
  PlanActor actor;
  actor.role = ActorRole::conductor;
  actor.name = at_process("conductor" + std::to_string(index), process);
  actor.outputs.resize(2);
  for (auto& output : actor.outputs) output.info = control_info();
  std::vector<std::int64_t> local;
  for (const auto& part : collectives_[index])
    if (ranks_[part.rank].process == process) local.push_back(part.rank);
  actor.place = place_of(static_cast<int>(local.front()));
  actor.replica = static_cast<int>(local.front());
  const auto& kind = plan_.actor(collectives_[index].front().actor).task.kind;
  actor.task = {"begin_" + kind, communicator_, {{"index", static_cast<std::int64_t>(index)}, {"ranks", local}}};
  const auto conductor = plan_.add(std::move(actor));
  for (const auto& part : collectives_[index]) {
    if (ranks_[part.rank].process != process) continue;
    const auto bucket = plan_.actors[part.actor].inputs.at(0);
    plan_.connect(bucket.edge, conductor, bucket.info, bucket.byte_offset);
    plan_.connect(conductor, kBegun, part.actor);
  }
  return conductor;
}

void Conductor::connect_ring(const std::vector<ActorId>& conductors) {
  // One after the other, and the first of a step after the last of the step before. Two slots there: an actor that
  // follows itself fires while it still holds the old token.
  for (std::size_t index = 0; index < conductors.size(); ++index) {
    const bool last = index + 1 == conductors.size();
    const auto next = conductors[last ? 0 : index + 1];
    plan_.connect(plan_.edge_of(conductors[index], kNext, last ? 2 : 1, last ? 1 : 0), next, control_info(), 0);
  }
}

void Conductor::finish() {
  for (std::size_t index = 0; index < collectives_.size(); ++index)
    if (collectives_[index].size() != ranks_.size())
      throw Error("conductor", "collective " + std::to_string(index) + " is known to " +
                                   std::to_string(collectives_[index].size()) + " of " + std::to_string(ranks_.size()) +
                                   " ranks");
  std::set<int> processes;
  for (const auto& place : ranks_) processes.insert(place.process);
  for (auto process : processes) {
    std::vector<ActorId> conductors;
    for (std::size_t index = 0; index < collectives_.size(); ++index)
      conductors.push_back(add_conductor(index, process));
    connect_ring(conductors);
  }
}

}  // namespace troupe
