#include "troupe/actors/segment/captured_subgraphs.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "troupe/actors/collective/launch_order.hpp"
#include "troupe/actors/segment/device_memory.hpp"
#include "troupe/actors/segment/segment.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Returns, for each task, the number of the task after the subgraph that begins with this task; the task's own number
/// if it cannot be captured.
std::vector<std::size_t> ends_of_subgraphs(const Segment& segment) {
  const auto& plan = segment.plan();
  const auto& tasks = segment.tasks();
  std::vector<std::size_t> ends(tasks.count());
  auto end = tasks.count();
  for (auto i = tasks.count(); i-- > 0;) {
    const bool capturable = tasks[i].task->capturable();
    const bool is_last = !capturable || std::ranges::any_of(tasks[i].sends, [&](auto output) {
      return is_awaited_at_once(plan, plan.edges[segment.layout().outputs[output].edge]);
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

/// One launch of a subgraph: a task, or the copy of an output to the host.
struct Launch {
  std::vector<MemoryRange> reads, writes;
  /// Launches the task or copy. Returns the objects that it needs for as long as it may be launched again; null if
  /// none.
  std::function<std::shared_ptr<const void>()> make;

  /// The approximate duration, in bytes read or written. Starting a launch counts as much as 256 KiB.
  double cost() const {
    double cost = 1 << 18;
    for (const auto* ranges : {&reads, &writes})
      for (const auto& range : *ranges) cost += static_cast<double>(range.end - range.begin);
    return cost;
  }
};

Launch launch_of_task(const Segment& segment, std::size_t i) {
  auto& task = *segment.tasks()[i].task;
  const auto firing = segment.firing_of(i);
  Launch launch;
  for (const auto& input : firing.inputs) launch.reads.push_back(range_of(input));
  for (const auto& output : firing.outputs) launch.writes.push_back(range_of(output));
  const auto* scratch = firing.context.scratch;
  launch.writes.push_back({scratch, scratch + task.scratch_bytes()});
  launch.make = [&task, firing] {
    task.fire(firing);
    return task.resources();
  };
  return launch;
}

Launch launch_of_copy(const Segment& segment, DeviceMemory& memory, std::uint32_t output) {
  const auto slot = segment.binding().slot_of(output);
  const auto& tensor = segment.binding().output_tensor(output, slot);
  return {{range_of(tensor)}, {range_of(memory.host_slots(output)[slot])}, [&memory, output, slot, &tensor] {
            memory.copy_to_host(output, slot, tensor);
            return nullptr;
          }};
}

/// Returns, for each launch, its cost and the numbers of the earlier launches for which it must wait, so that all
/// results are as if the launches ran one after the other.
std::vector<DependentLaunch> dependent_launches(const std::vector<Launch>& launches) {
  LaunchDependencies dependencies;
  std::vector<DependentLaunch> dependent;
  for (const auto& launch : launches) {
    const auto waits_for = dependencies.add(launch.reads, launch.writes);
    dependent.push_back({{waits_for.begin(), waits_for.end()}, launch.cost()});
  }
  return dependent;
}

}  // namespace

// ---- CapturedSubgraphs

void CapturedSubgraphs::start(const Key& key) {
  current_ = by_key_.find(key);
  if (current_ == nullptr) current_ = &by_key_.add(key, {std::vector<Subgraph>(ends_.size())});
}

/// Captures the tasks that `launch_tasks` launches. If the capture fails, prints the reason and returns a Subgraph
/// without work; none of the tasks has run then. Throws the fault of the stream if the capture fails because earlier
/// work on the stream has failed.
CapturedSubgraphs::Subgraph CapturedSubgraphs::capture(Stream& stream, const std::function<Resources()>& launch_tasks) {
  stream.begin_capture();
  Subgraph subgraph;
  std::string obstacle;
  try {
    subgraph.resources = launch_tasks();
  } catch (const std::exception& error) {
    // If the capture has not caused the error, the tasks throw it again, with its place, when they run one by one.
    obstacle = error.what();
  }
  try {
    subgraph.work = stream.end_capture();
  } catch (const Error& error) {
    if (obstacle.empty()) obstacle = error.what();
  }
  if (obstacle.empty()) return subgraph;
  if (const auto fault = stream.fault()) std::rethrow_exception(fault);
  std::fprintf(stderr, "[capture] work is launched op by op, because it cannot be captured: %s\n", obstacle.c_str());
  return {};
}

std::size_t CapturedSubgraphs::launch(std::size_t first, Stream& stream, const LaunchTasks& launch_tasks) {
  const auto end = ends_[first];
  if (refused_ || !current_->has_run || end < first + kFewest) return first;
  auto& subgraph = current_->by_first[first];
  if (subgraph.work == nullptr) subgraph = capture(stream, [&] { return launch_tasks(first, end); });
  refused_ = subgraph.work == nullptr;
  if (refused_) return first;
  stream.launch(*subgraph.work);
  ++launches_;
  return end;
}

void CapturedSubgraphs::finish() {
  if (current_ != nullptr) current_->has_run = true;
  current_ = nullptr;
}

// ---- SegmentCapture

bool SegmentCapture::is_allowed() {
  return !capture_is("0");
}

SegmentCapture::SegmentCapture(const Segment& segment, DeviceMemory& memory)
    : segment_(segment), memory_(memory), subgraphs_(ends_of_subgraphs(segment)), is_chain_(capture_is("chain")) {
  for (const auto& output : segment.layout().outputs)
    copied_inside_.push_back(output.alias_port == kNone && !output.copies_parameter(segment.plan().edges[output.edge]));
}

/// Begins a firing. The key consists of the number of rows, the address of the scratch memory, the addresses of the
/// bound inputs and the numbers of the bound slots.
void SegmentCapture::start() {
  const auto& binding = segment_.binding();
  key_.assign({static_cast<std::uintptr_t>(binding.rows()), reinterpret_cast<std::uintptr_t>(segment_.scratch())});
  binding.append_to(key_);
  subgraphs_.start(key_);
}

std::size_t SegmentCapture::launch(std::size_t first) {
  if (first == 0) start();
  const auto end = subgraphs_.launch(first, memory_.stream(),
                                     [this](std::size_t from, std::size_t to) { return launch_tasks(from, to); });
  if (end == first) return first;
  const auto launched = memory_.stream().record();
  for (auto task = first; task < end; ++task) {
    const auto& entry = segment_.tasks()[task];
    entry.begin_update();
    entry.finish_update();
    for (auto output : entry.sends)
      if (copied_inside_[output]) memory_.note_captured(output, launched);
  }
  return end;
}

/// Launches the tasks of a subgraph, and the copies of their outputs to the host, while the stream captures. A captured
/// launch waits for earlier launches that access the same memory, unless both only read it; other launches may run
/// concurrently. With TROUPE_CAPTURE=chain each launch waits for the one before. Returns the objects that the work
/// needs.
CapturedSubgraphs::Resources SegmentCapture::launch_tasks(std::size_t first, std::size_t end) {
  CapturedSubgraphs::Resources resources;
  const auto make = [&](const Launch& launch) {
    if (auto needed = launch.make()) resources.push_back(std::move(needed));
  };
  std::vector<Launch> launches;
  for (auto i = first; i < end; ++i) {
    launches.push_back(launch_of_task(segment_, i));
    for (auto output : segment_.tasks()[i].sends)
      if (copied_inside_[output] && !memory_.host_slots(output).empty())
        launches.push_back(launch_of_copy(segment_, memory_, output));
  }
  if (is_chain_) {
    for (const auto& next : launches) make(next);
    return resources;
  }
  const auto dependent = dependent_launches(launches);
  std::vector<std::size_t> position(launches.size()), waits_for;
  std::size_t count = 0;
  for (const auto i : longest_way_first(dependent)) {
    waits_for.clear();
    for (const auto before : dependent[i].waits_for) waits_for.push_back(position[before]);
    memory_.stream().begin_launch(waits_for);
    make(launches[i]);
    position[i] = count++;
  }
  return resources;
}

}  // namespace troupe
