#include "troupe/actors/plan/conductor.hpp"

#include <algorithm>
#include <set>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Output numbers of a conductor: kBegun leads to the collectives that it begins, kNext to the next conductor.
constexpr std::int32_t kBegun = 0, kNext = 1;

std::string at_process(const std::string& name, int process) {
  return process == 0 ? name : name + " of process " + std::to_string(process);
}

/// True if the collectives of a communicator with these ranks work on device memory; see Conductor::Conductor().
bool sum_on_devices(const std::vector<Place>& ranks, AllReduceAlgorithm all_reduce) {
  const bool are_alike = std::ranges::all_of(ranks, [&](const Place& place) {
    return !is_host(place.device) && place.device.type == ranks.front().device.type;
  });
  const bool are_together =
      std::ranges::all_of(ranks, [&](const Place& place) { return place.process == ranks.front().process; });
  // For ranks in several processes, every algorithm but hierarchy and nccl works on host memory.
  return are_alike &&
         (are_together || all_reduce == AllReduceAlgorithm::hierarchy || all_reduce == AllReduceAlgorithm::nccl);
}

/// Throws Error if a rank is not on a GPU, or two ranks of a process share a GPU. GPUs of different processes are not
/// compared, because two processes may name one GPU by different numbers.
void expect_own_gpus(const std::vector<Place>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto& place = ranks[rank];
    if (place.device.type != DeviceType::cuda)
      throw Error("nccl", "sums on GPUs, but rank " + std::to_string(rank) + " is on " + to_string(place.device));
    const auto other = static_cast<std::size_t>(std::ranges::find(ranks, place) - ranks.begin());
    if (other != rank)
      throw Error("nccl", "needs a GPU for every rank, but ranks " + std::to_string(other) + " and " +
                              std::to_string(rank) + " are on " + to_string(place.device) + " of process " +
                              std::to_string(place.process));
  }
}

/// Throws Error if a gather of `ranks` ranks has a result for another number of them, because the graph was built for
/// another number of replicas. Sizes that follow from the batch are not known.
void expect_result_of_ranks(const PlanActor& collective, std::size_t ranks) {
  const auto kind = collective_kind_of(collective.task.attributes.text("collective"));
  const auto& input = collective.inputs.at(0).info;
  const auto& result = collective.outputs[0].info;
  if (form_of(kind).output != OutputSize::gathered || input.shape.has_batch() || result.shape.has_batch()) return;
  if (result.shape.elements() != output_elements(kind, input.shape.elements(), static_cast<int>(ranks)))
    throw Error("conductor", "'" + collective.name + "' gathers " + to_string(input) + " of " + std::to_string(ranks) +
                                 " ranks, but its result is " + to_string(result) + ": build the graph for " +
                                 std::to_string(ranks) + " replicas");
}

}  // namespace

Conductor::Conductor(Plan& plan, std::string communicator, std::vector<Place> ranks, AllReduceAlgorithm all_reduce)
    : plan_(plan),
      communicator_(std::move(communicator)),
      ranks_(std::move(ranks)),
      on_devices_(sum_on_devices(ranks_, all_reduce)) {
  if (all_reduce == AllReduceAlgorithm::nccl) expect_own_gpus(ranks_);
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

ActorId Conductor::add(CollectiveKind kind, int index, int rank, const TensorInfo& info) {
  const auto& form = form_of(kind);
  if (collectives_.size() <= static_cast<std::size_t>(index)) collectives_.resize(index + 1);
  auto& parts = collectives_[index];
  const auto process = ranks_.at(static_cast<std::size_t>(rank)).process;
  const auto local = std::ranges::count(parts, process, [&](const Part& part) { return ranks_[part.rank].process; });
  PlanActor actor;
  actor.name = form.name + std::to_string(index) + "@" + std::to_string(rank);
  actor.role = ActorRole::collective;
  actor.place = place_of(rank);
  actor.replica = rank;
  actor.outputs.push_back({.info = info, .alias_of = form.output == OutputSize::in_place ? 0 : kNone});
  actor.task = {"collective",
                communicator_,
                {{"collective", std::string(form.name)},
                 {"index", std::int64_t{index}},
                 {"rank", std::int64_t{rank}},
                 {"local", std::int64_t{local}}}};
  const auto id = plan_.add(std::move(actor));
  parts.push_back({id, rank});
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
  const auto& kind = plan_.actor(collectives_[index].front().actor).task.attributes.text("collective");
  actor.task = {"begin_collective",
                communicator_,
                {{"collective", kind}, {"index", static_cast<std::int64_t>(index)}, {"ranks", local}}};
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
  // The conductors of a process fire one after the other, and the first conductor of a step fires after the last
  // conductor of the step before. The edge from the last conductor to the first has one initial token and two slots: if
  // the process has a single conductor, the edge leads from this conductor to itself, and the conductor fills a slot
  // while it still holds the old token.
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
  for (const auto& collective : collectives_)
    for (const auto& part : collective) expect_result_of_ranks(plan_.actors[part.actor], ranks_.size());
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
