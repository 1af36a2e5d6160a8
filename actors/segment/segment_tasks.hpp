#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/store/update_counter.hpp"
#include "troupe/actors/task/collective_start.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/actors/task/task.hpp"

namespace troupe {

/// The tasks of one segment, in the order in which they fire. A conductor is the actor that begins a collective for the
/// ranks of its process. For each edge from a conductor to its collectives, the object also holds the collective that
/// the edge carries in the current firing. Used on one thread at a time.
class SegmentTasks {
 public:
  /// One task with its place among the arguments. The struct is small, since a firing of a fused segment walks over an
  /// entry for each op.
  struct Entry {
    std::unique_ptr<Task> task;
    const PlanActor* actor;
    /// The index of the task's first argument among the arguments of all tasks, and the numbers of its inputs and
    /// outputs. The outputs follow the inputs.
    std::uint32_t first_argument, inputs, outputs;
    /// Numbers of the segment's outputs that this task computes. They are sent when the task is complete.
    std::span<const std::int32_t> sends;
    /// Counters of the parameters that the task updates.
    std::vector<std::shared_ptr<UpdateCounter>> updates;
    std::size_t scratch_offset = 0;
    /// Points to the collective that the task begins or completes; null for a task that does neither.
    std::shared_ptr<CollectiveStart>* start = nullptr;

    void begin_update() const {
      for (const auto& counter : updates) counter->begin_update();
    }
    void finish_update() const {
      for (const auto& counter : updates) counter->finish_update();
    }
  };

  /// Makes the tasks. Throws Error if a task does not fit the pacing or the place of its actor. `plan` and `layout`
  /// must outlive this.
  SegmentTasks(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout, SpawnContext& context);

  std::size_t count() const { return entries_.size(); }
  const Entry& operator[](std::size_t i) const { return entries_[i]; }
  /// Numbers of the tasks that are sources. A source decides when the run ends.
  const std::vector<std::size_t>& sources() const { return sources_; }
  /// True if a task reads inputs on any device, so that arriving tensors are not copied to the segment's device.
  bool reads_any_device() const { return reads_any_device_; }

  /// Prepares all tasks for firings of `rows` rows. Gives each task that needs scratch memory an area, large enough for
  /// all numbers of rows so far. Returns the bytes of all areas.
  std::size_t prepare(std::int64_t rows, Device device);
  /// Stores the collective that has arrived over an edge from a conductor.
  void set_start(EdgeId edge, const std::shared_ptr<CollectiveStart>& start) { starts_[edge] = start; }
  /// The collective to send over an edge; null if the edge carries none.
  std::shared_ptr<CollectiveStart> start_on(EdgeId edge) const;
  /// Ends a firing: drops the collectives of all edges.
  void drop_starts();
  /// Marks every parameter that a task updates as half-written. Called if launched work of this run has failed.
  void mark_failed() const;
  /// Marks every parameter that a task updates as abandoned: launched work may still write to it, and no actor waits
  /// for this work.
  void abandon_updates() const;

 private:
  void add(const Plan& plan, const PlanActor& actor, const TaskLayout& layout, SpawnContext& context);

  std::map<EdgeId, std::shared_ptr<CollectiveStart>> starts_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> sources_;
  bool reads_any_device_ = false;
};

}  // namespace troupe
