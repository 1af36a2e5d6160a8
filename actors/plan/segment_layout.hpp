#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_boundary.hpp"

namespace troupe {

/// The memory in which an argument of a task lies.
struct ArgumentPlace {
  enum class Kind {
    arena,      ///< in the memory that the segment's inner values share
    constant,   ///< a constant of the plan
    parameter,  ///< in the store
    port,       ///< the tensor that arrived at an input of the segment
    output,     ///< the slot of an output of the segment that this firing fills
  };
  Kind kind = Kind::arena;
  std::int32_t index = 0;  ///< of the port or output
  std::size_t byte_offset = 0;
  TensorInfo info;
  std::optional<ParameterRef> parameter;
  Tensor constant;
};

struct TaskLayout {
  ActorId actor = kNone;
  std::vector<ArgumentPlace> inputs, outputs;
  /// Outputs of the segment that are ready when the task is done.
  std::vector<std::int32_t> sends;
};

/// How the actors of one segment share memory: which values are inner and where they lie, and which go in and out.
struct SegmentLayout : SegmentBoundary {
  std::vector<TaskLayout> tasks;
  std::size_t arena_bytes = 0;

  /// Bytes of the slots of all outputs, for the plan's maximum number of rows. Parameters, outputs in place and shared
  /// buffers do not count.
  std::size_t slot_bytes(const Plan& plan) const;
};

/// A plan that is to be spawned is laid out by CheckedPlan.
SegmentLayout lay_out(const Plan& plan, const PlanSegment& segment);

/// Scratch memory of a segment on a device: equal areas, used in turn by the kernels that need scratch memory, so that
/// independent kernels can run concurrently. There is one area only if several would take much memory.
struct ScratchAreas {
  std::size_t count = 1;
  std::size_t bytes = 0;  ///< of each

  /// `bytes_of_kernels` holds the scratch bytes of every kernel, 0 for a kernel without any.
  static ScratchAreas on(Device device, const std::vector<std::size_t>& bytes_of_kernels);
  std::size_t total() const { return count * bytes; }
};

/// Bytes of a value with `rows` rows.
std::size_t bytes_of(const TensorInfo& info, std::int64_t rows);

}  // namespace troupe
