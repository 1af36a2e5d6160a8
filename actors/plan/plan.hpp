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

/// A parameter, or a state of the optimizer, that the plan reads or writes. `initializer` gives its value if the
/// parameter store does not hold it yet.
struct PlanParameter {
  ParameterRef ref;
  TensorInfo info;
  Device device;
  Initializer initializer;
  bool trainable = false;
  /// True: a state that one replica alone has. Other processes receive no copy of it, and it starts anew after a
  /// failure.
  bool per_replica = false;

  bool operator==(const PlanParameter&) const = default;
};

/// An input of an actor: an edge, a parameter of the store, or a constant.
struct PlanInput {
  EdgeId edge = kNone;
  /// Shape and dtype of the tensor that the task reads. The tensor is a view if the edge, the parameter or the constant
  /// has another shape.
  TensorInfo info;
  std::size_t byte_offset = 0;
  /// Set instead of `edge`: a parameter of the store that this actor updates, or that no actor of the plan updates.
  std::optional<ParameterRef> parameter = {};
  /// Set instead of `edge`: a value that never changes.
  Tensor constant = {};
  /// For an actor with FiringRule::own: the largest number of tensors of `edge` that it holds at one time.
  std::int32_t holds = 1;
};

/// One output of an actor.
struct PlanOutput {
  /// The edge that carries the output; kNone if no actor reads it.
  EdgeId edge = kNone;
  TensorInfo info;
  /// Set if the output is this parameter of the store, updated in place. If the edge has several slots, each slot holds
  /// a copy of the updated parameter.
  std::optional<ParameterRef> parameter = {};
  /// The number of the input in whose tensor the actor computes the output in place, or kNone. The input's slot is
  /// returned to its producer only when all readers have returned the output.
  std::int32_t alias_of = kNone;
  /// For an output that packs the inputs: the offset of each input in the output, in bytes. Empty for other outputs.
  std::vector<std::size_t> pack_offsets = {};

  bool operator==(const PlanOutput&) const = default;
};

/// The part of an actor in a plan. A source makes or loads data, a sink takes results. A collective is one rank's part
/// of a collective operation, which a conductor begins for the ranks of its process. An external actor runs no task:
/// the plan has the function that spawns it.
enum class ActorRole { op, source, sink, collective, conductor, external };

/// The condition that ends an actor's run.
enum class Pacing {
  source,   ///< the actor ends its run itself, after its last data or at the end step of the run
  follows,  ///< the actor's run ends when one of its inputs has ended
  free,     ///< the actor answers requests until all other actors have ended their runs
};

/// The rule that says when an actor fires, that is, takes tensors from its inputs and computes outputs.
enum class FiringRule {
  all_inputs,  ///< when every input holds a tensor and every output has a free slot
  own,         ///< by its own rule, holding at most PlanInput::holds tensors of each input
};

/// The task of an actor, by name. Spawning the plan calls PlanActor::make_task if it is set, else the factory of `kind`
/// in SpawnContext::tasks, else the one in the task registry.
struct PlanTask {
  std::string kind;
  /// The name, in SpawnContext, of the data source or communicator with which the task works.
  std::string subject = {};
  Attributes attributes = {};
  /// The op that the task runs if `kind` is "op".
  std::optional<OpCall> call = {};
};

using ExternalFactory = std::function<caf::actor(caf::actor_system&, SpawnContext&)>;

/// A parameter of the plan that an external actor (PlanActor::spawn_external) holds during a run.
struct HeldParameter {
  ParameterRef ref;
  /// True: the actor updates the held rows. No other actor may read or write them in the store.
  bool written = false;
  /// The rows that the actor holds. std::nullopt: all rows.
  std::optional<RowRange> rows = {};
  /// True: in a run, the held rows get as many updates as all other held rows of the replica with this flag. If a run
  /// that fails or is given up has made different numbers of updates in this process, all of these copies are broken;
  /// see ParameterStore::recover(). If all actors have finished the run, the updates of other processes count, too.
  bool equal_updates = false;
  /// True: the copy is broken if a run that has updated it is given up before all actors have finished. A run sets this
  /// if actors in several processes hold rows of one parameter, or parameters with `equal_updates`: a process does not
  /// know the updates of another one.
  bool needs_whole_run = false;

  bool operator==(const HeldParameter&) const = default;
};

/// An actor of the plan. An external actor is spawned by `spawn_external`; every other actor runs a task.
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
  /// True: the actor is a segment of its own, with an executor of its own, in every grain (grain.hpp).
  bool alone = false;
  /// For an external actor: shape and dtype of the tensor that each input must carry, in order. std::nullopt: any
  /// tensors.
  std::optional<std::vector<TensorInfo>> declared_inputs = {};
  /// For an external actor: the parameters of the store that it holds, in host memory.
  std::vector<HeldParameter> parameters = {};
  /// Makes the task; takes precedence over the factories of PlanTask::kind. Comparisons and hashes of plans leave
  /// `make_task` out; they compare `task` in its place.
  TaskFactory make_task = {};
  ExternalFactory spawn_external = {};
};

struct PlanConsumer {
  ActorId actor = kNone;
  std::int32_t input = 0;

  bool operator==(const PlanConsumer&) const = default;
};

/// An output of an actor and all its readers. The edge has `capacity` slots, each of which holds one tensor.
/// `initial_tokens` of the slots are full before the first step; the tensors in them are called tokens.
struct PlanEdge {
  std::string name;
  ActorId producer = kNone;
  std::int32_t output = 0;
  std::vector<PlanConsumer> consumers;
  std::int32_t capacity = 1;
  std::int32_t initial_tokens = 0;
  TensorInfo info;
  /// The number of the buffer in Plan::shared_buffers that holds the only slot of this edge, and holds slots of other
  /// edges at other times. kNone: the edge has memory of its own.
  std::int32_t shared_buffer = kNone;
  /// The offset of the slot in the shared buffer, in bytes.
  std::size_t shared_offset = 0;

  bool operator==(const PlanEdge&) const = default;
};

/// Actors that fire together as a unit: one thread runs them one after the other, in the order of `actors`. CheckedPlan
/// holds the layout of every segment.
struct PlanSegment {
  std::string name;
  Place place;
  std::vector<ActorId> actors;
  /// The number of the executor, the CAF actor that runs the segment. Segments with the same executor never run at the
  /// same time.
  std::int32_t executor = 0;
  /// True: the executor gets a thread of its own if RuntimeOptions::own_threads is set.
  bool own_thread = false;
  /// Segments of one executor that have the same number here launch their work on one stream. kNone: the segment has a
  /// stream of its own.
  std::int32_t stream = kNone;

  bool operator==(const PlanSegment&) const = default;
};

/// A group of ranks among which the plan's collectives run. Spawning the plan looks the communicator up by name in
/// SpawnContext, or makes it.
struct PlanCommunicator {
  std::string name;
  /// The process number of each rank.
  std::vector<int> processes;
  /// The algorithm of all-reduces if the ranks are in several processes.
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct;
  /// The device of each rank if the collectives work on device memory. Empty: they work on the host's memory.
  std::vector<Device> devices = {};

  bool operator==(const PlanCommunicator&) const = default;
};

/// The tensor of an output of an actor, or a view of it.
struct OutputRef {
  ActorId actor = kNone;
  std::int32_t output = 0;
  /// Shape and dtype of a view that begins `byte_offset` bytes into the tensor of the output. std::nullopt: the whole
  /// tensor.
  std::optional<TensorInfo> view = {};
  std::size_t byte_offset = 0;
};

/// The actors of a program, their places, and every edge between them: plain data that refers to parameters,
/// communicators and data sources by name. The plan fixes every place, group and buffer; spawning it makes no further
/// choice.
struct Plan {
  std::vector<PlanActor> actors;
  std::vector<PlanEdge> edges;
  std::vector<PlanParameter> parameters;
  std::vector<PlanCommunicator> communicators;
  /// The groups of actors that fire together. Empty: in_grain() (grain.hpp) has not grouped the actors yet.
  std::vector<PlanSegment> segments;
  /// The bytes of each buffer that edges share, by PlanEdge::shared_buffer.
  std::vector<std::size_t> shared_buffers;
  /// The largest number of rows of a batch that one replica gets in a step. Buffers have room for that number.
  std::int64_t max_rows = 1;
  /// Processes whose loss does not end the run: the other processes go on, and every edge from the lost process ends. A
  /// reader of such an edge in another process must have a firing rule of its own and handle the end; see
  /// PortActor::lost().
  std::vector<int> expendable;

  /// Adds an actor and returns its number. An output gets its edge when it is connected. An actor with the role of a
  /// source gets Pacing::source.
  ActorId add(PlanActor actor);
  /// Adds a parameter to which an actor refers, unless the plan has it already. Throws Error if the plan has it with
  /// another shape or dtype.
  void add_parameter(PlanParameter parameter);
  /// Returns the edge of an output. An output without an edge gets one with this capacity and this number of initial
  /// tokens; an existing edge keeps its own. Throws Error if there is no such output, `capacity` is below 1, or
  /// `initial_tokens` is not in 0 .. capacity.
  EdgeId edge_of(ActorId producer, std::int32_t output, std::int32_t capacity = 1, std::int32_t initial_tokens = 0);
  /// Makes an edge for every output of an actor that has none yet.
  void add_edges(ActorId producer, std::int32_t capacity = 1);
  /// Adds an input to `consumer` that reads the whole output. `capacity` applies only if the output has no edge yet.
  void connect(ActorId producer, std::int32_t output, ActorId consumer, std::int32_t capacity = 1);
  void connect(const OutputRef& from, ActorId consumer, std::int32_t capacity = 1);
  /// Adds an input to `consumer` that is a view of the tensors of an edge: shape and dtype `info`, from `byte_offset`
  /// on.
  void connect(EdgeId edge, ActorId consumer, const TensorInfo& info, std::size_t byte_offset);

  const PlanActor& actor(ActorId id) const;
  const PlanEdge& edge(EdgeId id) const;
  /// One more than the largest process number among the actors' places.
  int processes() const;
};

/// True if the plans are equal in every member, down to every attribute of every op. PlanActor::make_task and
/// PlanActor::spawn_external are not compared.
bool operator==(const Plan& a, const Plan& b);

/// xxh3 (64 bits) of everything that operator== compares.
std::uint64_t hash_of(const Plan& plan);

/// Like hash_of(), but independent of the places of actors, parameters and ranks, of grouping and shared buffers, and
/// of the expendable processes.
std::uint64_t hash_of_program(const Plan& plan);

/// Shape and dtype of the tensors of an edge that only orders two actors: a tensor without elements.
inline TensorInfo control_info() {
  return {Shape{0}, DType::uint8};
}

}  // namespace troupe
