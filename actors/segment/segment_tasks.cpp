#include "troupe/actors/segment/segment_tasks.hpp"

#include <algorithm>

#include "troupe/actors/plan/check_plan.hpp"
#include "troupe/actors/segment/task_registry.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

void expect_task_for(const PlanActor& actor, const Task& task) {
  if (task.is_source() != (actor.pacing == Pacing::source))
    throw Error("plan", "'" + actor.name + "' " +
                            (task.is_source() ? "has the task of a source but does not decide when the run ends"
                                              : "is a source but its task is not"));
  if (!task.runs_on_device() && !backend_of(actor.place.device).host_accessible())
    throw Error("plan", "'" + actor.name + "' runs on the host, but its place is " + to_string(actor.place) +
                            "; place it on " + to_string(host_side(actor.place)));
}

/// The edge from a conductor, the actor that begins a collective in its process, to its collectives, if `actor` is this
/// conductor or one of these collectives; else kNone.
EdgeId edge_of_start(const Plan& plan, const PlanActor& actor) {
  const auto is_collective = [&](const PlanConsumer& consumer) {
    return plan.actors[consumer.actor].role == ActorRole::collective;
  };
  if (actor.role == ActorRole::conductor)
    for (const auto& output : actor.outputs)
      if (output.edge != kNone && std::ranges::any_of(plan.edges[output.edge].consumers, is_collective))
        return output.edge;
  if (actor.role == ActorRole::collective)
    for (const auto& input : actor.inputs)
      if (input.edge != kNone && plan.actors[plan.edges[input.edge].producer].role == ActorRole::conductor)
        return input.edge;
  return kNone;
}

}  // namespace

SegmentTasks::SegmentTasks(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout,
                           SpawnContext& context) {
  for (std::size_t i = 0; i < segment.actors.size(); ++i)
    add(plan, plan.actors[segment.actors[i]], layout.tasks[i], context);
}

void SegmentTasks::add(const Plan& plan, const PlanActor& actor, const TaskLayout& layout, SpawnContext& context) {
  std::uint32_t first_argument = 0;
  if (!entries_.empty())
    first_argument = entries_.back().first_argument + entries_.back().inputs + entries_.back().outputs;
  auto task = make_task(actor, context);
  expect_task_for(actor, *task);
  reads_any_device_ = reads_any_device_ || task->reads_any_device();
  if (task->is_source()) sources_.push_back(entries_.size());
  auto& entry = entries_.emplace_back();
  entry.task = std::move(task);
  entry.actor = &actor;
  entry.first_argument = first_argument;
  entry.inputs = static_cast<std::uint32_t>(actor.inputs.size());
  entry.outputs = static_cast<std::uint32_t>(actor.outputs.size());
  entry.sends = layout.sends;
  if (const auto edge = edge_of_start(plan, actor); edge != kNone) entry.start = &starts_[edge];
  for (const auto& ref : updated_by(actor)) entry.updates.push_back(context.store->counter(ref));
}

std::size_t SegmentTasks::prepare(std::int64_t rows, Device device) {
  std::vector<std::size_t> bytes;
  for (const auto& entry : entries_) {
    entry.task->prepare(rows);
    bytes.push_back(entry.task->scratch_bytes());
  }
  const auto areas = ScratchAreas::on(device, bytes);
  std::size_t users = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (bytes[i] > 0) entries_[i].scratch_offset = users++ % areas.count * areas.bytes;
  return areas.total();
}

std::shared_ptr<CollectiveStart> SegmentTasks::start_on(EdgeId edge) const {
  const auto start = starts_.find(edge);
  return start == starts_.end() ? nullptr : start->second;
}

void SegmentTasks::drop_starts() {
  for (auto& [edge, start] : starts_) start = nullptr;
}

void SegmentTasks::mark_failed() const {
  for (const auto& entry : entries_) entry.begin_update();
}

void SegmentTasks::abandon_updates() const {
  for (const auto& entry : entries_)
    for (const auto& counter : entry.updates) counter->abandon();
}

}  // namespace troupe
