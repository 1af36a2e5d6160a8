#pragma once

#include <cstddef>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Where an argument of a task lies.
struct Place {
  enum class Kind {
    arena,   ///< in the memory that the segment's inner values share
    held,    ///< a tensor that stays: constant, parameter
    port,    ///< what arrived at an input of the segment
    output,  ///< the slot of an output of the segment that this firing fills
  };
  Kind kind = Kind::arena;
  std::int32_t index = 0;  ///< of the port or output
  std::size_t byte_offset = 0;
  TensorInfo info;
  Tensor held;
};

struct TaskLayout {
  ActorId actor = kNone;
  std::vector<Place> inputs, outputs;
  /// Outputs of the segment that are ready when the task is done.
  std::vector<std::int32_t> sends;
};

/// An output of a segment: an edge that somebody outside reads, or that carries tokens from run to run.
struct SegmentOutput {
  EdgeId edge = kNone;
  /// In place: the parameter, or the port whose tensor it is.
  Tensor storage;
  std::int32_t alias_port = kNone;
};

/// How the actors of one segment share memory: which values are inner and where they lie, which go in and out.
struct SegmentLayout {
  std::vector<TaskLayout> tasks;
  std::vector<EdgeId> ports;
  std::vector<SegmentOutput> outputs;
  std::size_t arena_bytes = 0;

  /// Bytes of the slots of all outputs for `rows` rows.
  std::size_t slot_bytes(const Plan& plan) const;
};

SegmentLayout lay_out(const Plan& plan, const PlanSegment& segment);

/// Bytes of elements of that kind for a number of rows.
std::size_t bytes_of(const TensorInfo& info, std::int64_t rows);

/// What the tensors of a run of the plan will take, before it is spawned.
struct PlanMemory {
  std::size_t arenas = 0;      ///< inner values of segments
  std::size_t slots = 0;       ///< buffers of the edges between segments, shared blocks included
  std::size_t scratch = 0;     ///< of kernels
  std::size_t parameters = 0;  ///< and optimizer state, in the store

  std::size_t total() const { return arenas + slots + scratch + parameters; }
};

PlanMemory memory_of(const Plan& plan);

}  // namespace troupe
