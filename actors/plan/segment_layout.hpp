#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// An output of a segment: an edge that an actor outside the segment reads, whose readers in the segment get it by
/// message because it has initial tokens, or whose tensor overwrites an input in place.
struct SegmentOutput {
  EdgeId edge = kNone;
  /// The parameter that the output updates in place; each slot of an edge with several slots holds a copy of it.
  std::optional<ParameterRef> parameter;
  /// The number of the port, an edge over which tensors arrive, whose tensor the output overwrites in place; kNone if
  /// the output overwrites none.
  std::int32_t alias_port = kNone;
  /// The offset of the output in the tensor of the port, in bytes.
  std::size_t alias_offset = 0;

  /// True if the only slot of the output's edge, `carrier`, is the parameter's memory in the store.
  bool is_parameter(const PlanEdge& carrier) const { return parameter && carrier.capacity == 1; }
  /// True if each slot of the output's edge, `carrier`, holds a copy of the parameter.
  bool copies_parameter(const PlanEdge& carrier) const { return parameter && carrier.capacity > 1; }
};

/// The edges between a segment and the rest of the plan. A port is an edge over which tensors arrive.
struct SegmentBoundary {
  std::vector<EdgeId> ports;
  /// For an external actor (ActorRole::external), an output that no actor reads has an entry without an edge, so that
  /// outputs keep their numbers.
  std::vector<SegmentOutput> outputs;

  /// Shape and dtype of the tensors that arrive at the ports.
  std::vector<TensorInfo> port_infos(const Plan& plan) const;
};

/// The memory in which an argument of a task lies.
struct ArgumentPlace {
  enum class Kind {
    arena,      ///< in the memory that the segment's inner values share
    constant,   ///< a constant of the plan
    parameter,  ///< in the parameter store, or in a copy on the device of the segment
    port,       ///< the tensor that arrived at an input of the segment
    output,     ///< the slot of a segment output that the current firing fills
  };
  Kind kind = Kind::arena;
  std::int32_t index = 0;  ///< number of the port or output
  std::size_t byte_offset = 0;
  TensorInfo info;
  std::optional<ParameterRef> parameter;
  Tensor constant;
};

struct TaskLayout {
  ActorId actor = kNone;
  std::vector<ArgumentPlace> inputs, outputs;
  /// Numbers of the segment's outputs that this task computes. They are sent when the task is complete.
  std::vector<std::int32_t> sends;
};

/// The memory of one segment: its ports and outputs, and the place of every argument of its tasks. Inner values, which
/// only tasks of the segment read, lie in an arena.
struct SegmentLayout : SegmentBoundary {
  std::vector<TaskLayout> tasks;
  std::size_t arena_bytes = 0;

  /// Bytes of the slots of all outputs, for the plan's maximum number of rows. Slots in parameters, in tensors of ports
  /// and in shared buffers do not count.
  std::size_t slot_bytes(const Plan& plan) const;
  /// The name of the actor that computes the largest value in the arena; null if the arena holds no values.
  const std::string* producer_of_largest(const Plan& plan) const;
};

SegmentBoundary boundary_of(const Plan& plan, const PlanSegment& segment);

/// Lays out one segment of a grouped plan. CheckedPlan calls it for every segment of a plan that is to be spawned.
SegmentLayout lay_out(const Plan& plan, const PlanSegment& segment);

/// The scratch memory of a segment. On a device it consists of equal areas, used in turn by the kernels that need
/// scratch memory, so that independent kernels can run concurrently. There are at most 16 areas, not more than kernels
/// that need one, and no more than fit into 256 MiB, but at least one. On the host there is one.
struct ScratchAreas {
  std::size_t count = 1;
  std::size_t bytes = 0;  ///< bytes of each area

  /// `bytes_of_kernels` holds the scratch bytes of every kernel, 0 for a kernel that needs none.
  static ScratchAreas on(Device device, const std::vector<std::size_t>& bytes_of_kernels);
  std::size_t total() const { return count * bytes; }
};

/// True if the kernels of the segment use the scratch memory of the segment's executor: if the segment is on the host
/// and all its actors run ops, which need scratch memory only while their tasks fire.
bool shares_scratch(const Plan& plan, const PlanSegment& segment);
/// True if the inner values of the segment lie in an arena that its executor has for all such segments: if
/// shares_scratch() is true and the values take at least 4 KiB. The executor finishes a firing of one of these segments
/// before it begins a firing of another one. It can always do so, because an op is complete once its task has fired.
bool shares_arena(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout);

/// Bytes of a tensor; a batch axis counts as `rows` rows.
std::size_t bytes_of(const TensorInfo& info, std::int64_t rows);

/// True if a reader of the edge needs the tensor in host memory: an actor on the host, or any actor in another process.
/// `place` is the place of the edge's producer.
bool is_read_on_host(const Plan& plan, const PlanEdge& edge, const Place& place);

/// True if the producer must send a tensor of the edge as soon as it is computed, because a reader is
/// - a collective or the conductor that begins it, so that the collective overlaps with the computation that follows,
/// - an actor on another device than the producer's, except a CPU device, or
/// - an actor in another process.
bool is_awaited_at_once(const Plan& plan, const PlanEdge& edge);

/// True if the actor is in the process `process`, on a device with memory of its own.
bool is_on_device(const PlanActor& actor, int process);

}  // namespace troupe
