#include "troupe/actors/segment/segment_capture.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "troupe/actors/segment/device_memory.hpp"
#include "troupe/actors/segment/segment_program.hpp"

namespace troupe {

namespace {

/// True if another actor has to hear of a tensor as soon as it is computed: a collective, which overlaps with the work
/// that follows, or an actor on another device or in another process.
bool is_awaited_elsewhere(const Plan& plan, const PlanEdge& edge, const Place& place) {
  return std::ranges::any_of(edge.consumers, [&](const PlanConsumer& consumer) {
    const auto& actor = plan.actors[consumer.actor];
    return actor.role == ActorRole::collective || actor.role == ActorRole::conductor ||
           actor.place.process != place.process || (actor.place.device != place.device && !is_host(actor.place.device));
  });
}

/// By task: the number of the task after the subgraph that begins with it.
std::vector<std::size_t> ends_of_subgraphs(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout,
                                           const SegmentTasks& tasks) {
  std::vector<std::size_t> ends(tasks.count());
  auto end = tasks.count();
  for (auto i = tasks.count(); i-- > 0;) {
    const bool capturable = tasks[i].task->capturable();
    const bool is_last = !capturable || std::ranges::any_of(tasks[i].sends, [&](auto output) {
      return is_awaited_elsewhere(plan, plan.edges[layout.outputs[output].edge], segment.place);
    });
    if (is_last) end = i + 1;
    ends[i] = capturable ? end : i;
  }
  return ends;
}

bool capture_is(std::string_view choice) {
  const auto* value = std::getenv("TROUPE_CAPTURE");
  return value != nullptr && choice == value;
}

MemoryRange range_of(const Tensor& tensor) {
  if (!tensor) return {};
  return {tensor.address(), tensor.address() + tensor.bytes()};
}

/// The approximate time of a launch. Its beginning costs as much as reading or writing 256 KiB.
double cost_of(const std::vector<MemoryRange>& reads, const std::vector<MemoryRange>& writes) {
  double cost = 1 << 18;
  for (const auto* ranges : {&reads, &writes})
    for (const auto& range : *ranges) cost += static_cast<double>(range.end - range.begin);
  return cost;
}

/// The dependencies under which the launches have the results that they would have one after the other.
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

bool SegmentCapture::is_allowed() {
  return !capture_is("0");
}

SegmentCapture::SegmentCapture(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout,
                               const SegmentProgram& program, DeviceMemory& memory)
    : program_(program),
      memory_(memory),
      subgraphs_(ends_of_subgraphs(plan, segment, layout, program.tasks())),
      is_chain_(capture_is("chain")) {
  for (const auto& output : layout.outputs) {
    const bool copies_parameter = output.parameter && !output.is_parameter(plan.edges[output.edge]);
    copied_inside_.push_back(output.alias_port == kNone && !copies_parameter);
  }
}

void SegmentCapture::start() {
  key_.assign(
      {static_cast<std::uintptr_t>(program_.binding().rows()), reinterpret_cast<std::uintptr_t>(program_.scratch())});
  program_.binding().append_to(key_);
  subgraphs_.start(key_);
}

std::size_t SegmentCapture::launch(std::size_t first) {
  const auto end = subgraphs_.launch(first, memory_.stream(),
                                     [this](std::size_t from, std::size_t to) { return launch_tasks(from, to); });
  if (end == first) return first;
  const auto launched = memory_.stream().record();
  for (auto task = first; task < end; ++task) {
    const auto& entry = program_.tasks()[task];
    entry.begin_update();
    entry.finish_update();
    for (auto output : entry.sends)
      if (copied_inside_[output]) memory_.note_captured(output, launched);
  }
  return end;
}

/// Launches the tasks of a subgraph one by one. A launch waits for the launches with which it shares memory;
/// independent launches run concurrently.
CapturedSubgraphs::Resources SegmentCapture::launch_tasks(std::size_t first, std::size_t end) {
  CapturedSubgraphs::Resources resources;
  const auto launches = launches_of(first, end);
  if (is_chain_) {
    for (const auto& next : launches) make(next, resources);
    return resources;
  }
  const auto dependent = dependent_launches(launches);
  std::vector<std::size_t> position(launches.size()), waits_for;
  std::size_t count = 0;
  for (const auto i : longest_way_first(dependent)) {
    waits_for.clear();
    for (const auto before : dependent[i].waits_for) waits_for.push_back(position[before]);
    memory_.stream().begin_launch(waits_for);
    make(launches[i], resources);
    position[i] = count++;
  }
  return resources;
}

std::vector<SegmentCapture::Launch> SegmentCapture::launches_of(std::size_t first, std::size_t end) const {
  std::vector<Launch> launches;
  for (auto i = first; i < end; ++i) {
    launches.push_back(launch_of_task(i));
    for (auto output : program_.tasks()[i].sends)
      if (copied_inside_[output] && !memory_.host_slots(output).empty()) launches.push_back(launch_of_copy(output));
  }
  return launches;
}

SegmentCapture::Launch SegmentCapture::launch_of_task(std::size_t task) const {
  Launch launch{.task = task};
  const auto firing = program_.firing_of(task);
  for (const auto& input : firing.inputs) launch.reads.push_back(range_of(input));
  for (const auto& output : firing.outputs) launch.writes.push_back(range_of(output));
  const auto* scratch = firing.context.scratch;
  launch.writes.push_back({scratch, scratch + program_.tasks()[task].task->scratch_bytes()});
  return launch;
}

SegmentCapture::Launch SegmentCapture::launch_of_copy(std::int32_t output) const {
  const auto slot = program_.binding().slot_of(output);
  return {.output = output,
          .reads = {range_of(program_.binding().output_tensor(output, slot))},
          .writes = {range_of(memory_.host_slots(output)[slot])}};
}

void SegmentCapture::make(const Launch& launch, CapturedSubgraphs::Resources& resources) {
  if (launch.output != kNone) {
    const auto slot = program_.binding().slot_of(launch.output);
    memory_.copy_to_host(launch.output, slot, program_.binding().output_tensor(launch.output, slot));
    return;
  }
  const auto& task = program_.tasks()[launch.task].task;
  task->fire(program_.firing_of(launch.task));
  if (auto needed = task->resources()) resources.push_back(std::move(needed));
}

}  // namespace troupe
