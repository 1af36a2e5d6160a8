#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Where an argument of a task lies.
struct ArgumentPlace {
  enum class Kind {
    arena,      ///< in the memory that the segment's inner values share
    constant,   ///< a constant of the plan
    parameter,  ///< in the store
    port,       ///< what arrived at an input of the segment
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

/// An output of a segment: an edge that somebody outside reads, or that carries tokens from run to run.
struct SegmentOutput {
  EdgeId edge = kNone;
  /// The parameter that the output updates in place; each slot of an edge with several holds a copy of it.
  std::optional<ParameterRef> parameter;
  /// The port whose tensor the output is, in place.
  std::int32_t alias_port = kNone;
  /// Where in that tensor the output begins.
  std::size_t alias_offset = 0;

  /// True if a slot is the parameter's own memory.
  bool is_parameter(const PlanEdge& carrier) const { return parameter && carrier.capacity == 1; }
};

/// How the actors of one segment share memory: which values are inner and where they lie, which go in and out.
struct SegmentLayout {
  std::vector<TaskLayout> tasks;
  std::vector<EdgeId> ports;
  std::vector<SegmentOutput> outputs;
  std::size_t arena_bytes = 0;

  /// Bytes of the slots of all outputs, for the plan's most rows; parameters, outputs in place and shared buffers do
  /// not count.
  std::size_t slot_bytes(const Plan& plan) const;
};

SegmentLayout lay_out(const Plan& plan, const PlanSegment& segment);

/// Scratch memory of a segment on a device: equal areas, used in turn by the kernels that need some, so that
/// independent ones can run concurrently. Where that would take much memory there is only one.
struct ScratchAreas {
  std::size_t count = 1;
  std::size_t bytes = 0;  ///< of each

  /// For kernels that need so many bytes each, or none.
  static ScratchAreas on(Device device, const std::vector<std::size_t>& bytes_of_kernels);
  std::size_t total() const { return count * bytes; }
};

/// Bytes of a value with `rows` rows.
std::size_t bytes_of(const TensorInfo& info, std::int64_t rows);

/// Whether somebody reads the edge of a producer at `place` in host memory: an actor on the host, or the stand-in for
/// another process.
bool is_read_on_host(const Plan& plan, const PlanEdge& edge, const Place& place);

}  // namespace troupe
