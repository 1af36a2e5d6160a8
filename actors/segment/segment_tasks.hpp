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

/// The tasks of one segment, in the order in which they fire, and the collectives of a firing, on their way from or to
/// the tasks: one place for each edge from a conductor to collectives. Used on one thread at a time.
class SegmentTasks {
 public:
  /// One task. Kept small: a fused segment walks over these, one for each op.
  struct Entry {
    std::unique_ptr<Task> task;
    const PlanActor* actor;
    /// The arguments of the task among those of all tasks: its inputs, then its outputs.
    std::uint32_t first_argument, inputs, outputs;
    /// Outputs of the segment that are ready when the task is done.
    std::span<const std::int32_t> sends;
    /// Counters of the parameters that the task updates.
    std::vector<std::shared_ptr<UpdateCounter>> updates;
    std::size_t scratch_offset = 0;
    /// The place of the collective that the task begins or completes; null for other tasks.
    std::shared_ptr<CollectiveStart>* start = nullptr;

    void begin_update() const {
      for (const auto& counter : updates) counter->begin_update();
    }
    void finish_update() const {
      for (const auto& counter : updates) counter->finish_update();
    }
  };

  /// Makes the tasks. Throws Error if a task does not fit the pacing or the place of its actor. Plan and layout outlive
  /// this.
  SegmentTasks(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout, SpawnContext& context);

  std::size_t count() const { return entries_.size(); }
  const Entry& operator[](std::size_t i) const { return entries_[i]; }
  /// The tasks that are sources, which decide when the run ends.
  const std::vector<std::size_t>& sources() const { return sources_; }
  /// True if tensors that arrive stay where they are.
  bool reads_any_device() const { return reads_any_device_; }

  /// Prepares all tasks for this number of rows, and places the scratch memory for all rows so far. Returns its bytes.
  std::size_t prepare(std::int64_t rows, Device device);
  /// Fills the place of an edge with the collective that a conductor has begun.
  void set_start(EdgeId edge, const std::shared_ptr<CollectiveStart>& start) { starts_[edge] = start; }
  /// The collective to send over an edge; null if the edge carries none.
  std::shared_ptr<CollectiveStart> start_on(EdgeId edge) const;
  /// Ends a firing: empties the places of all edges.
  void drop_starts();
  /// Marks every parameter that a task updates as half-written: work of this run has failed.
  void mark_failed() const;
  /// Gives up every parameter that a task updates: launched work may write to it at any time, and no actor waits for
  /// it.
  void abandon_updates() const;

 private:
  void add(const Plan& plan, const PlanActor& actor, const TaskLayout& layout, SpawnContext& context);

  std::map<EdgeId, std::shared_ptr<CollectiveStart>> starts_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> sources_;
  bool reads_any_device_ = false;
};

}  // namespace troupe
