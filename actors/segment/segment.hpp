#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/segment/segment_memory.hpp"
#include "troupe/actors/segment/segment_program.hpp"
#include "troupe/actors/segment/segment_streams.hpp"
#include "troupe/actors/segment/segment_tokens.hpp"
#include "troupe/actors/task/spawn_context.hpp"

namespace troupe {

/// One segment of a plan: its program and the memory in which the program works. Used on one thread at a time.
class Segment {
 public:
  /// Makes the tasks and allocates all memory that a firing with the plan's maximum number of rows needs. `number`
  /// counts the segments of the plan. The shared buffers outlive this.
  Segment(const CheckedPlan& plan, std::int32_t number, std::span<const Tensor> shared_buffers, SegmentStreams& streams,
          SpawnContext& context);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const Plan& plan() const { return *plan_; }
  const std::string& name() const { return segment_.name; }
  const SegmentLayout& layout() const { return layout_; }
  const SegmentTasks& tasks() const { return program_->tasks(); }
  SegmentProgram& program() { return *program_; }
  const SegmentProgram& program() const { return *program_; }
  SegmentMemory& memory() { return *memory_; }

  /// Before a run: parameters and tokens that were changed since the last run get the new value.
  void begin_run();
  /// The tensor of a slot as it was sent last, or as the output starts.
  SentTensor token(std::int32_t output, std::uint32_t slot) { return tokens_->token(output, slot); }
  /// The message for a slot of an output that this firing has computed. An output in place is a view of `port_tensor`.
  SentTensor sent_tensor(std::int32_t output, std::uint32_t slot, const Tensor& port_tensor);
  /// Gives up the copies of parameters that launched work may still write, since no actor will wait for it.
  void abandon_work();

 private:
  void make_on_host(const SegmentMemorySetup& setup, SegmentTasks tasks);
  void make_on_device(const SegmentMemorySetup& setup, SegmentTasks tasks, const SegmentStreams& streams);

  CheckedPlan plan_;
  const PlanSegment& segment_;
  const SegmentLayout& layout_;
  std::unique_ptr<SegmentMemory> memory_;
  std::optional<SegmentProgram> program_;
  std::optional<SegmentTokens> tokens_;
};

}  // namespace troupe
