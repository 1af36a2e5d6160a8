#pragma once

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/type_id.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/messages/call_result.hpp"
#include "troupe/actors/messages/run_status.hpp"
#include "troupe/actors/store/held_parameters.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/failure.hpp"
#include "troupe/transport/link.hpp"

// The messages that actors of a plan exchange. Names of facts are past participles, names of orders are verbs.
//
//   supervisor -> all        Wire, PrepareRun      answered by Prepared
//   supervisor -> sources    StartSources, PauseSources, RunUntil
//   producer   -> consumer   TensorReady, DataEnded
//   consumer   -> producer   CreditReturned
//   all        -> supervisor Prepared, StepFailed, SourcePaused, RunFinished, AbortRun
//   supervisor -> all        Describe (what the actor waits for), Stop
//
// An actor that does not derive from Participant must handle every message that its place in the plan can receive: CAF
// answers an unknown message with an error that ends the sender.
//
// Work on a device may still be running when a message is sent. Once the event in the message is done, the tensor holds
// its elements, or the slot may be overwritten. A device makes its stream wait for the event. On the host a message is
// held back until its event is done.
//
// `port` is the number of an input of an actor, `output` the number of one of its outputs.

namespace troupe {

struct OrderedCall;
struct PendingCall;

/// The spawning of the plan (generation), the run and the step for which a message was sent. A message of another
/// generation is dropped. A message of a run for which the receiver is not yet prepared waits.
struct Stamp {
  std::uint64_t generation = 0;
  std::uint64_t run = 0;
  std::int64_t step = 0;
};

/// A tensor for an input. It fills one slot of the edge until every consumer has returned the slot. A failure in place
/// of the tensor says that the step cannot be computed. The credit is returned all the same.
struct TensorReady {
  std::uint32_t port = 0;
  std::uint32_t slot = 0;
  Stamp stamp;
  Tensor tensor;
  FailurePtr failure;
  /// The tensor holds its elements once this event is done.
  Event ready = {};
  /// The collective that a conductor has begun, on the edge to the ranks of its process. Such an edge never leads to
  /// another process.
  std::shared_ptr<CollectiveStart> start = {};
};

/// A consumer is done with a slot and has dropped its handle to the tensor.
struct CreditReturned {
  std::uint32_t output = 0;
  std::uint32_t slot = 0;
  std::uint32_t consumer = 0;  ///< number of the consumer that returns it, from its InputWire
  std::uint64_t generation = 0;
  /// The slot may be overwritten once this event is done.
  Event last_use = {};
  /// The consumer has not used the tensor because another input that it needs was lost.
  bool refused = false;
};

/// Nothing more comes over this edge in this run.
struct DataEnded {
  std::uint32_t port = 0;
  Stamp stamp;
  /// The producer was lost before the end of its data.
  bool lost = false;
};

struct ConsumerPort {
  caf::actor actor;
  std::uint32_t port = 0;
  /// The consumer reads host memory.
  bool on_host = true;
};

struct ProducerOutput {
  caf::actor actor;
  std::uint32_t output = 0;
  std::uint32_t consumer = 0;
};

/// The consumer's end of an edge. The last tokens of an edge with initial tokens stay for the next run.
struct InputWire {
  ProducerOutput producer;
  std::uint32_t capacity = 1;
  std::uint32_t initial_tokens = 0;
  std::string edge;
  std::string producer_name;
  int replica = 0;  ///< replica of the producer
};

/// The producer's end of an edge. Tensors sent to an edge without consumers are dropped.
struct OutputWire {
  std::vector<ConsumerPort> consumers;
  std::uint32_t capacity = 1;
  std::uint32_t initial_tokens = 0;
  std::string edge;
  std::vector<std::string> consumer_names;
  TensorInfo info;
};

/// The edges of the receiver, with the actors at their other ends. Sent once.
struct Wire {
  std::uint64_t generation = 0;
  /// Rank of the process, for failures; -1 if the plan has one part.
  int rank = -1;
  /// The receiver's name in the plan, and the state that it publishes.
  std::shared_ptr<ExecutorStatus> status;
  caf::actor supervisor;
  std::vector<InputWire> inputs;
  std::vector<OutputWire> outputs;
  std::vector<HeldTensor> parameters = {};
};

/// Prepare for a run of the steps first_step, first_step + 1, ...
struct PrepareRun {
  std::uint64_t run = 0;  ///< number of the run, from 1
  RunInfo info;
  std::vector<int> absent = {};  ///< expendable processes that take no part in the run
};

/// The sender has carried out Wire or PrepareRun. Its sources end before `end_step`; kLastStep if their end is unknown.
struct Prepared {
  std::int64_t end_step = kLastStep;
};

/// Sources may fire the steps before `end_step`.
struct StartSources {
  std::int64_t end_step = kLastStep;
};

/// Sources stop firing and answer with SourcePaused.
struct PauseSources {
  std::uint64_t run = 0;
};

/// The sender's sources are paused until RunUntil. `next_step` is the first step that they have not emitted.
struct SourcePaused {
  std::uint64_t run = 0;
  std::int64_t next_step = 0;
};

/// Sources fire the steps before `end_step` and end there.
struct RunUntil {
  std::int64_t end_step = 0;
};

/// The run ends without draining: every wait for other processes must end.
struct AbortRun {
  FailurePtr failure;
};

/// A step failed. Sent by the actor that detects the failure, not by those to which the failure is passed on.
struct StepFailed {
  FailurePtr failure;
};

/// The sender has reached the end of the data and has all its credits back.
struct RunFinished {};

/// The receiver has more work. Sent by the actor itself, or by its link.
struct Continue {};

/// The collective or the work on a device for which the segment waits may be complete.
struct Advance {
  std::uint32_t segment = 0;
};

/// Work on a device for which a message was held back is complete.
struct WorkCompleted {};

/// A lost process has come back. `link` leads to it, for the proxy of its actors, which uses the link from the next run
/// in which the process is not absent.
struct LinkReplaced {
  std::shared_ptr<Link> link;
};

/// Write into the report what the receiver waits for.
struct Describe {
  std::shared_ptr<StallReport> report;
};

/// Drop all handles and quit.
struct Stop {};

// ---- Calls to workers

/// A call was scheduled.
struct CallScheduled {
  std::shared_ptr<PendingCall> call;
};

/// Execute a call.
struct CallOrdered {
  std::int64_t call = 0;
  std::shared_ptr<const OrderedCall> what;
};

/// An execution of a call has ended.
struct CallEnded {
  std::int64_t call = 0;
  CallResult result;
};

/// A worker takes calls from now on.
struct WorkerJoined {
  int worker = 0;
  caf::actor actor;
};

/// Nothing more comes from a worker.
struct WorkerLost {
  int worker = 0;
};

}  // namespace troupe

/// Gives a message its type id. Messages stay in the process, so CAF never serializes them.
#define TROUPE_MESSAGE(name)              \
  CAF_ADD_TYPE_ID(troupe, (troupe::name)) \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::name)

// The ids lie beyond those of a program's own messages, which begin at first_custom_type_id according to CAF's manual.
CAF_BEGIN_TYPE_ID_BLOCK(troupe, caf::first_custom_type_id + 1000)
TROUPE_MESSAGE(TensorReady)
TROUPE_MESSAGE(CreditReturned)
TROUPE_MESSAGE(DataEnded)
TROUPE_MESSAGE(Wire)
TROUPE_MESSAGE(PrepareRun)
TROUPE_MESSAGE(Prepared)
TROUPE_MESSAGE(StartSources)
TROUPE_MESSAGE(PauseSources)
TROUPE_MESSAGE(SourcePaused)
TROUPE_MESSAGE(RunUntil)
TROUPE_MESSAGE(AbortRun)
TROUPE_MESSAGE(StepFailed)
TROUPE_MESSAGE(RunFinished)
TROUPE_MESSAGE(Continue)
TROUPE_MESSAGE(Advance)
TROUPE_MESSAGE(WorkCompleted)
TROUPE_MESSAGE(LinkReplaced)
TROUPE_MESSAGE(Describe)
TROUPE_MESSAGE(Stop)
TROUPE_MESSAGE(CallScheduled)
TROUPE_MESSAGE(CallOrdered)
TROUPE_MESSAGE(CallEnded)
TROUPE_MESSAGE(WorkerJoined)
TROUPE_MESSAGE(WorkerLost)
CAF_END_TYPE_ID_BLOCK(troupe)

#undef TROUPE_MESSAGE
