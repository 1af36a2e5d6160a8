#include <cstdlib>
#include <string_view>

#include "troupe/actors/run/segment.hpp"

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
  LaunchDependencies launches;
  for (auto i = first; i < end; ++i) {
    const auto firing = firing_of(i);
    begin_task_launch(launches, i, firing);
    tasks_[i].task->fire(firing);
    if (auto needed = tasks_[i].task->resources()) resources.push_back(std::move(needed));
    for (auto output : tasks_[i].sends)
      if (copied_in_stretch_[output] && !host_slots_[output].empty()) copy_in_stretch(launches, output);
  }
  return resources;
}

void Segment::begin_launch(LaunchDependencies& launches, std::vector<MemoryRange> reads,
                           std::vector<MemoryRange> writes) {
  if (!captures_chain_) stream_->begin_launch(launches.add(std::move(reads), std::move(writes)));
}

void Segment::begin_task_launch(LaunchDependencies& launches, std::size_t task, const Firing& firing) {
  std::vector<MemoryRange> reads, writes;
  for (const auto& input : firing.inputs) reads.push_back(range_of(input));
  for (const auto& output : firing.outputs) writes.push_back(range_of(output));
  const auto* scratch = firing.context.scratch;
  writes.push_back({scratch, scratch + tasks_[task].task->scratch_bytes()});
  begin_launch(launches, std::move(reads), std::move(writes));
}

void Segment::copy_in_stretch(LaunchDependencies& launches, std::int32_t output) {
  const auto slot = static_cast<std::uint32_t>(binding_->bound_slot[output]);
  const auto& tensor = binding_->sent[output][slot];
  begin_launch(launches, {range_of(tensor)}, {range_of(host_slots_[output][slot])});
  copy_to_host(output, slot, tensor);
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
  tasks_[i].task->skip(failure);
}

}  // namespace troupe
