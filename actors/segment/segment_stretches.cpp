#include <cstdlib>
#include <string_view>

#include "troupe/actors/collective/launch_order.hpp"
#include "troupe/actors/segment/segment.hpp"

namespace troupe {

namespace {

/// Whether somebody has to be told of a tensor as soon as it is made: a collective, which overlaps with what follows,
/// or another device.
bool is_awaited_elsewhere(const Plan& plan, const PlanEdge& edge, const Place& place) {
  for (const auto& consumer : edge.consumers) {
    const auto& actor = plan.actors[consumer.actor];
    if (actor.role == ActorRole::collective || actor.role == ActorRole::conductor) return true;
    if (actor.place.process != place.process) return true;
    if (actor.place.device != place.device && !is_host(actor.place.device)) return true;
  }
  return false;
}

/// What TROUPE_CAPTURE says: with `0` nothing is captured, with `chain` every launch waits for the one before.
bool capture_is(std::string_view choice) {
  const auto* value = std::getenv("TROUPE_CAPTURE");
  return value != nullptr && choice == value;
}

MemoryRange range_of(const Tensor& tensor) {
  if (!tensor) return {};
  return {tensor.address(), tensor.address() + tensor.bytes()};
}

/// About the time that a launch takes: to begin costs as much as to read or write so many bytes.
double cost_of(const std::vector<MemoryRange>& reads, const std::vector<MemoryRange>& writes) {
  double cost = 1 << 18;
  for (const auto* ranges : {&reads, &writes})
    for (const auto& range : *ranges) cost += static_cast<double>(range.end - range.begin);
  return cost;
}

/// Of launches that are to have the results that they would have one after the other.
template <class Launches>
std::vector<DependentLaunch> dependent_launches(const Launches& launches) {
  LaunchDependencies dependencies;
  std::vector<DependentLaunch> dependent;
  for (const auto& launch : launches) {
    const auto waits_for = dependencies.add(launch.reads, launch.writes);
    dependent.push_back({{waits_for.begin(), waits_for.end()}, cost_of(launch.reads, launch.writes)});
  }
  return dependent;
}

}  // namespace

void Segment::find_stretches(const Plan& plan, const Place& place) {
  if (capture_is("0")) return;
  captures_chain_ = capture_is("chain");
  std::vector<std::size_t> ends(tasks_.size());
  auto end = tasks_.size();
  for (auto i = tasks_.size(); i-- > 0;) {
    bool breaks = !tasks_[i].task->capturable();
    for (auto output : tasks_[i].sends)
      breaks = breaks || is_awaited_elsewhere(plan, plan.edges[layout_.outputs[output].edge], place);
    if (breaks) end = i + 1;
    ends[i] = tasks_[i].task->capturable() ? end : i;
  }
  for (std::size_t output = 0; output < layout_.outputs.size(); ++output)
    copied_in_stretch_.push_back(layout_.outputs[output].alias_port == kNone && !copies_parameter_[output]);
  stretches_.emplace(std::move(ends));
}

/// The memory on which this firing works.
void Segment::start_stretches() {
  stretch_key_.assign(
      {static_cast<std::uintptr_t>(binding_->rows), reinterpret_cast<std::uintptr_t>(scratch_.address())});
  for (const auto& port : binding_->of_port)
    if (!port.empty())
      stretch_key_.push_back(reinterpret_cast<std::uintptr_t>(binding_->arguments[port.front().argument].address()));
  for (auto slot : binding_->bound_slot) stretch_key_.push_back(static_cast<std::uintptr_t>(slot));
  stretches_->start(stretch_key_);
}

/// Launches wait for those with which they share memory; independent ones run concurrently.
CapturedStretches::Resources Segment::launch_stretch(std::size_t first, std::size_t end) {
  CapturedStretches::Resources resources;
  const auto launches = launches_of(first, end);
  if (captures_chain_) {
    for (const auto& next : launches) launch(next, resources);
    return resources;
  }
  const auto dependent = dependent_launches(launches);
  std::vector<std::size_t> place(launches.size()), waits_for;
  std::size_t count = 0;
  for (const auto i : longest_way_first(dependent)) {
    waits_for.clear();
    for (const auto before : dependent[i].waits_for) waits_for.push_back(place[before]);
    stream_->begin_launch(waits_for);
    launch(launches[i], resources);
    place[i] = count++;
  }
  return resources;
}

std::vector<Segment::StretchLaunch> Segment::launches_of(std::size_t first, std::size_t end) {
  std::vector<StretchLaunch> launches;
  for (auto i = first; i < end; ++i) {
    launches.push_back(launch_of_task(i));
    for (auto output : tasks_[i].sends)
      if (copied_in_stretch_[output] && !host_slots_[output].empty()) launches.push_back(launch_of_copy(output));
  }
  return launches;
}

Segment::StretchLaunch Segment::launch_of_task(std::size_t task) {
  StretchLaunch launch{.task = task};
  const auto firing = firing_of(task);
  for (const auto& input : firing.inputs) launch.reads.push_back(range_of(input));
  for (const auto& output : firing.outputs) launch.writes.push_back(range_of(output));
  const auto* scratch = firing.context.scratch;
  launch.writes.push_back({scratch, scratch + tasks_[task].task->scratch_bytes()});
  return launch;
}

Segment::StretchLaunch Segment::launch_of_copy(std::int32_t output) {
  const auto slot = static_cast<std::uint32_t>(binding_->bound_slot[output]);
  return {.output = output,
          .reads = {range_of(binding_->sent[output][slot])},
          .writes = {range_of(host_slots_[output][slot])}};
}

void Segment::launch(const StretchLaunch& launch, CapturedStretches::Resources& resources) {
  if (launch.output != kNone) {
    const auto slot = static_cast<std::uint32_t>(binding_->bound_slot[launch.output]);
    copy_to_host(launch.output, slot, binding_->sent[launch.output][slot]);
    return;
  }
  const auto& task = tasks_[launch.task].task;
  task->fire(firing_of(launch.task));
  if (auto needed = task->resources()) resources.push_back(std::move(needed));
}

std::size_t Segment::run_captured(std::size_t i) {
  if (!stretches_) return i;
  if (i == 0) start_stretches();
  const auto end = stretches_->launch(
      i, *stream_, [this](std::size_t first, std::size_t last) { return launch_stretch(first, last); });
  if (end == i) return i;
  launched_captured_ = stream_->record();
  for (auto task = i; task < end; ++task) {
    for (const auto& written : tasks_[task].writes) {
      written->begin_update();
      written->finish_update();
    }
    for (auto output : tasks_[task].sends) sent_by_captured_[output] = copied_in_stretch_[output];
  }
  return end;
}

void Segment::skip_task(std::size_t i, const FailurePtr& failure) {
  if (stretches_) stretches_->abandon();
  tasks_[i].task->skip(firing_of(i), failure);
}

}  // namespace troupe
