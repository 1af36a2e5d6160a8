#pragma once

#include <caf/actor.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/run/task.hpp"
#include "troupe/ops/core/device.hpp"
#include "troupe/ops/graph/op.hpp"

namespace caf {
class actor_system;
}

namespace troupe {

using ActorId = std::int32_t;
using EdgeId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

/// Where an actor of a plan gets one of its inputs: from an edge, or it holds the tensor for good.
struct PlanInput {
  EdgeId edge = kNone;
  /// What the task sees; a view of what the edge carries if it differs.
  TensorInfo info;
  std::size_t byte_offset = 0;
  /// Instead of an edge: a constant, or a parameter that nobody in the plan updates.
  Tensor held;
};

/// One output of an actor.
struct PlanOutput {
  /// kNone: nobody reads it.
  EdgeId edge = kNone;
  TensorInfo info;
  /// Not empty: the output is this tensor, in place, as a parameter in the store is.
  Tensor storage;
  /// Not kNone: the output is the tensor of that input, in place; the input is returned only when the output is free.
  std::int32_t alias_of = kNone;
  /// For an output that packs the inputs: where each begins, in bytes.
  std::vector<std::size_t> pack_offsets;
};

enum class ActorRole { op, source, sink, collective, conductor, external };

/// One actor. External ones are spawned by the user's own function; the others run a task.
struct PlanActor {
  std::string name;
  ActorRole role = ActorRole::op;
  Device device;
  int replica = 0;
  std::vector<PlanInput> inputs;
  std::vector<PlanOutput> outputs;
  TaskFactory make_task;
  std::function<caf::actor(caf::actor_system&)> spawn_external;
  /// Never contracted with others into a segment.
  bool alone = false;
};

struct PlanConsumer {
  ActorId actor = kNone;
  std::int32_t input = 0;
};

/// One producer's output and all who read it. N slots, of which t are full before the first step.
struct PlanEdge {
  std::string name;
  ActorId producer = kNone;
  std::int32_t output = 0;
  std::vector<PlanConsumer> consumers;
  std::int32_t capacity = 1;
  std::int32_t initial_tokens = 0;
  TensorInfo info;
  /// Not kNone: the slot of this edge lies in that block of the plan, which other edges use at other times.
  std::int32_t block = kNone;
};

/// Actors that one thread runs one after the other in this order.
struct PlanSegment {
  std::string name;
  Device device;
  std::vector<ActorId> actors;
  /// Segments of one host share an actor of the actor system, and so a thread.
  std::int32_t host = 0;
};

/// What an output of an actor carries, or a view of it.
struct OutputRef {
  ActorId actor = kNone;
  std::int32_t output = 0;
  /// A view, if it has another shape or begins later than what the output carries. Nothing: all of it.
  std::optional<TensorInfo> view = {};
  std::size_t byte_offset = 0;
};

/// Which actors exist, on which device, and every edge between them: plain data. Once spawned, nothing is decided any
/// more.
struct Plan {
  std::vector<PlanActor> actors;
  std::vector<PlanEdge> edges;
  /// How actors are grouped. Empty: every actor is a segment of its own (the per-op grain).
  std::vector<PlanSegment> segments;
  /// Sizes in bytes of the blocks that edges share.
  std::vector<std::size_t> blocks;
  /// Rows of the largest part of a batch that a replica gets.
  std::int64_t max_rows = 1;

  /// Adds an actor; its outputs get edges when they are connected.
  ActorId add(PlanActor actor);
  /// The edge of an output, made if it is not there yet. Capacity and tokens of an existing one stay.
  EdgeId edge_of(ActorId producer, std::int32_t output, std::int32_t capacity = 1, std::int32_t initial_tokens = 0);
  /// Adds an input to `consumer` that reads the output as it is.
  void connect(ActorId producer, std::int32_t output, ActorId consumer, std::int32_t capacity = 1);
  void connect(const OutputRef& from, ActorId consumer, std::int32_t capacity = 1);
  /// Adds an input that is a view of the output.
  void connect(EdgeId edge, ActorId consumer, const TensorInfo& info, std::size_t byte_offset);
  /// Adds an input that the consumer holds for good.
  void hold(ActorId consumer, Tensor tensor);
};

/// True if an input of the actor is an edge without initial tokens: something new arrives every step.
bool is_paced(const Plan& plan, const PlanActor& actor);
/// True if the actor says itself when there is no more: a source, or one of the user's own that is not paced.
bool is_source(const Plan& plan, const PlanActor& actor);

/// What an edge of an actor without a tensor carries: nothing, it only orders.
inline TensorInfo control_info() {
  return {Shape{0}, DType::uint8};
}

/// Every actor with its edges, capacities and tokens, then the segments: one line each.
std::string to_text(const Plan& plan);
/// For Graphviz, segments as clusters.
std::string to_dot(const Plan& plan);

}  // namespace troupe
