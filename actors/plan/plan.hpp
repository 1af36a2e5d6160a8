#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/caf/fwd.hpp"
#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/plan/place.hpp"
#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/core/initializer.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/transport/all_reduce_algorithm.hpp"

namespace troupe {

inline constexpr std::int32_t kNone = -1;

/// A parameter that the plan reads or writes, and how it starts if the store does not hold it yet.
struct PlanParameter {
  ParameterRef ref;
  TensorInfo info;
  Device device;
  Initializer initializer;
  bool trainable = false;
  /// A state of one replica alone. It is not brought to other processes, and starts anew after a failure.
  bool per_replica = false;

  bool operator==(const PlanParameter&) const = default;
};

/// An input of an actor: an edge, a parameter of the store, or a constant.
struct PlanInput {
  EdgeId edge = kNone;
  /// The tensor that the task sees. It is a view if the edge, the parameter or the constant holds another shape.
  TensorInfo info;
  std::size_t byte_offset = 0;
  /// Instead of an edge: a parameter that no actor of the plan updates, or that this actor updates.
  std::optional<ParameterRef> parameter = {};
  /// Instead of an edge: a value that never changes.
  Tensor constant = {};
  /// The number of tensors of this edge that an actor with its own firing rule may hold before it returns the first.
  std::int32_t holds = 1;
};

/// One output of an actor.
struct PlanOutput {
  /// kNone: no actor reads the output.
  EdgeId edge = kNone;
  TensorInfo info;
  /// The output is that parameter, updated in place. An edge with several slots carries a copy of it in each.
  std::optional<ParameterRef> parameter = {};
  /// Not kNone: the output is the tensor of that input, in place; the input is returned only when the output is free.
  std::int32_t alias_of = kNone;
  /// For an output that packs the inputs: the offset of each, in bytes.
  std::vector<std::size_t> pack_offsets = {};

  bool operator==(const PlanOutput&) const = default;
};

enum class ActorRole { op, source, sink, collective, conductor, external };

/// The end of an actor's run.
enum class Pacing {
  source,   ///< the actor decides: it has no more data, or was told the last step
  follows,  ///< the inputs decide: the run ends when one of them has ended
  free,     ///< the other actors decide: it answers requests, and its run ends with theirs
};

/// The rule by which an actor fires.
enum class FiringRule {
  all_inputs,  ///< when every input holds a tensor and every output has a free slot
  own,         ///< by its own rule, holding at most PlanInput::holds tensors of each input
};

/// The task of an actor, by name. It is looked up when the plan is spawned, first among the tasks of the spawn context,
/// then in the task registry.
struct PlanTask {
  std::string kind;
  /// The name, in the spawn context, of the data source or communicator with which the task works.
  std::string subject = {};
  Attributes attributes = {};
  /// For the kind "op".
  std::optional<OpCall> call = {};
};

using ExternalFactory = std::function<caf::actor(caf::actor_system&, SpawnContext&)>;

/// A parameter of the plan that an external actor holds during a run.
struct HeldParameter {
  ParameterRef ref;
  /// The actor updates the parameter, which no other actor may write.
  bool written = false;
  /// The rows that the actor holds. Nothing: all rows.
  std::optional<RowRange> rows = {};

  bool operator==(const HeldParameter&) const = default;
};

/// One actor. External ones are spawned by the user's function; the others run a task.
struct PlanActor {
  std::string name;
  ActorRole role = ActorRole::op;
  Place place;
  int replica = 0;
  std::vector<PlanInput> inputs;
  std::vector<PlanOutput> outputs;
  PlanTask task = {};
  Pacing pacing = Pacing::follows;
  FiringRule rule = FiringRule::all_inputs;
  /// The actor is never contracted with others into a segment.
  bool alone = false;
  /// For an external actor: the tensors that its inputs must carry, in order. Nothing: any tensors.
  std::optional<std::vector<TensorInfo>> declared_inputs = {};
  /// For an external actor: the parameters of the store that it holds, in host memory.
  std::vector<HeldParameter> parameters = {};
  /// The user's code in place of a registered task. Not part of comparisons: the task's kind stands for it.
  TaskFactory make_task = {};
  ExternalFactory spawn_external = {};
};

struct PlanConsumer {
  ActorId actor = kNone;
  std::int32_t input = 0;

  bool operator==(const PlanConsumer&) const = default;
};

/// One producer's output and all its readers. The edge has N slots (capacity), of which t (initial_tokens) are full
/// before the first step.
struct PlanEdge {
  std::string name;
  ActorId producer = kNone;
  std::int32_t output = 0;
  std::vector<PlanConsumer> consumers;
  std::int32_t capacity = 1;
  std::int32_t initial_tokens = 0;
  TensorInfo info;
  /// Not kNone: the slot of this edge lies in that shared buffer of the plan, which other edges use at other times.
  std::int32_t shared_buffer = kNone;
  /// The offset of the slot in the shared buffer, in bytes.
  std::size_t shared_offset = 0;

  bool operator==(const PlanEdge&) const = default;
};

/// Actors that one thread runs one after the other in this order. CheckedPlan holds the layout of every segment.
struct PlanSegment {
  std::string name;
  Place place;
  std::vector<ActorId> actors;
  /// Segments with the same executor are run by the same actor of the actor system, and so by one thread.
  std::int32_t executor = 0;
  /// The executor has its own thread if the runtime makes such threads.
  bool own_thread = false;
  /// Segments of an executor with the same number launch their work on one stream. kNone: on a stream of its own.
  std::int32_t stream = kNone;

  bool operator==(const PlanSegment&) const = default;
};

/// A group of ranks that the plan's collectives use. Looked up by name when the plan is spawned.
struct PlanCommunicator {
  std::string name;
  /// The process of each rank.
  std::vector<int> processes;
  /// The algorithm of its sums if the ranks live in several processes.
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct;
  /// The device of each rank, if tensors stay in the memory of devices. Empty: tensors are in the host's memory.
  std::vector<Device> devices = {};

  bool operator==(const PlanCommunicator&) const = default;
};

/// The tensor of an output of an actor, or a view of it.
struct OutputRef {
  ActorId actor = kNone;
  std::int32_t output = 0;
  /// A view, which has another shape or begins later than the tensor of the output. Nothing: the whole tensor.
  std::optional<TensorInfo> view = {};
  std::size_t byte_offset = 0;
};

/// The actors of a program, their places, and every edge between them: plain data that refers to parameters,
/// communicators and data sources by name. It decides everything; spawning a plan decides nothing.
struct Plan {
  std::vector<PlanActor> actors;
  std::vector<PlanEdge> edges;
  std::vector<PlanParameter> parameters;
  std::vector<PlanCommunicator> communicators;
  /// The groups of actors. Empty: the actors are not grouped yet; see grain.hpp.
  std::vector<PlanSegment> segments;
  /// Bytes of the buffers that edges share.
  std::vector<std::size_t> shared_buffers;
  /// Rows of the largest part of a batch that a replica gets.
  std::int64_t max_rows = 1;
  /// Processes that may be lost: the run goes on without them, and each edge from there ends. A reader of such an edge
  /// has a firing rule of its own and copes with the end; see PortActor::lost().
  std::vector<int> expendable;

  /// Adds an actor; its outputs get edges when they are connected. An actor with the role of a source decides itself
  /// when its run ends.
  ActorId add(PlanActor actor);
  /// Adds a parameter to which an actor refers. Throws Error if it is there with another shape or dtype.
  void add_parameter(PlanParameter parameter);
  /// The edge of an output, made if it is not there yet. Capacity and tokens of an existing edge stay.
  EdgeId edge_of(ActorId producer, std::int32_t output, std::int32_t capacity = 1, std::int32_t initial_tokens = 0);
  /// Makes the edges of all outputs of an actor that have none yet.
  void add_edges(ActorId producer, std::int32_t capacity = 1);
  /// Adds an input to `consumer` that reads the whole output. The capacity counts if the output has no reader yet.
  void connect(ActorId producer, std::int32_t output, ActorId consumer, std::int32_t capacity = 1);
  void connect(const OutputRef& from, ActorId consumer, std::int32_t capacity = 1);
  /// Adds an input that is a view of the tensors of an edge.
  void connect(EdgeId edge, ActorId consumer, const TensorInfo& info, std::size_t byte_offset);

  const PlanActor& actor(ActorId id) const;
  const PlanEdge& edge(EdgeId id) const;
  /// The number of processes that the actors' places name.
  int processes() const;
};

/// True if the two plans have the same actors, edges, parameters and grouping, down to every attribute of every op.
bool operator==(const Plan& a, const Plan& b);

/// xxh3 (64 bits) of everything that operator== compares.
std::uint64_t hash_of(const Plan& plan);

/// Like hash_of(), but independent of the places of actors and of their grouping.
std::uint64_t hash_of_program(const Plan& plan);

/// The tensor of an edge that only orders two actors; it has no elements.
inline TensorInfo control_info() {
  return {Shape{0}, DType::uint8};
}

}  // namespace troupe
