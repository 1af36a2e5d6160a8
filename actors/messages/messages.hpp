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

// Every message that actors of a plan exchange. Facts are past participles, orders are verbs.
//
//   supervisor -> all        Wire, PrepareRun      answered by Prepared
//   supervisor -> sources    StartSources, PauseSources, RunUntil
//   producer   -> consumer   TensorReady, DataEnded
//   consumer   -> producer   CreditReturned
//   all        -> supervisor Prepared, StepFailed, SourcePaused, RunFinished, AbortRun
//   supervisor -> all        Describe (somebody wants to know what the actor waits for), Stop
//
// An actor that does not derive from Participant must handle every message that its place in the plan can receive: CAF
// answers an unknown message with an error that ends the sender.
//
// Work on a device may still be running when a message is sent: the event in it is the point in the work from which on
// the tensor is there, or the slot may be overwritten. A device makes its stream wait for it; on the host a message
// whose event is not done is held back until it is.
//
// `port` is the number of an input of an actor, `output` the number of one of its outputs.

namespace troupe {

struct OrderedCall;
struct PendingCall;

/// When a message was sent: by which spawning of the plan, in which of its runs, for which step. A message of another
/// generation is void; one of a run that the receiver has not been prepared for waits.
struct Stamp {
  std::uint64_t generation = 0;
  std::uint64_t run = 0;
  std::int64_t step = 0;
};

/// An input is there: one slot of the edge is full until every consumer has returned it. With a failure instead of a
/// tensor the step cannot be computed; the credit is returned all the same.
struct TensorReady {
  std::uint32_t port = 0;
  std::uint32_t slot = 0;
  Stamp stamp;
  Tensor tensor;
  FailurePtr failure;
  /// The tensor holds its elements when this is done.
  Event ready = {};
  /// For the edge from a conductor to the ranks of its process, which never leads to another process.
  std::shared_ptr<CollectiveStart> start = {};
};

/// A consumer is done with a slot and has dropped its handle to the tensor.
struct CreditReturned {
  std::uint32_t output = 0;
  std::uint32_t slot = 0;
  std::uint32_t consumer = 0;  ///< which consumer of the output returns it, as its InputWire says
  std::uint64_t generation = 0;
  /// The slot may be overwritten when this is done.
  Event last_use = {};
  /// The consumer has not used the tensor, because what it needs besides was lost.
  bool refused = false;
};

/// Nothing more comes over this edge in this run.
struct DataEnded {
  std::uint32_t port = 0;
  Stamp stamp;
  /// The producer was lost before it came to its end.
  bool lost = false;
};

struct ConsumerPort {
  caf::actor actor;
  std::uint32_t port = 0;
  /// It reads host memory.
  bool on_host = true;
};

struct ProducerOutput {
  caf::actor actor;
  std::uint32_t output = 0;
  std::uint32_t consumer = 0;
};

/// An input as its actor sees it. The last tokens of one with initial tokens stay for the next run.
struct InputWire {
  ProducerOutput producer;
  std::uint32_t capacity = 1;
  std::uint32_t initial_tokens = 0;
  std::string edge;
  std::string producer_name;
  int replica = 0;  ///< of the producer
};

/// An output as its actor sees it. One without consumers drops what is sent.
struct OutputWire {
  std::vector<ConsumerPort> consumers;
  std::uint32_t capacity = 1;
  std::uint32_t initial_tokens = 0;
  std::string edge;
  std::vector<std::string> consumer_names;
  TensorInfo info;
};

/// Who is at the other end of every edge. Sent once.
struct Wire {
  std::uint64_t generation = 0;
  /// Of the process, for failures; -1 if the plan has one part.
  int rank = -1;
  /// The receiver's name in the plan, and where it counts its firings.
  std::shared_ptr<ExecutorStatus> status;
  caf::actor supervisor;
  std::vector<InputWire> inputs;
  std::vector<OutputWire> outputs;
  std::vector<HeldTensor> parameters = {};
};

/// A run is about to start: make ready for steps first_step, first_step + 1, ...
struct PrepareRun {
  std::uint64_t run = 0;  ///< number of the run, from 1
  RunInfo info;
  std::vector<int> absent = {};  ///< expendable processes that take no part in it
};

/// Wire or PrepareRun has been carried out. The sources of the receiver know that they end before `end_step`.
struct Prepared {
  std::int64_t end_step = kLastStep;
};

/// Sources may fire, up to, not including, `end_step`.
struct StartSources {
  std::int64_t end_step = kLastStep;
};

/// Sources stop firing and say where they are.
struct PauseSources {
  std::uint64_t run = 0;
};

/// A source will not fire again before RunUntil; `next_step` is the first step that it has not emitted.
struct SourcePaused {
  std::uint64_t run = 0;
  std::int64_t next_step = 0;
};

/// Sources go on up to, not including, `end_step`, and end there.
struct RunUntil {
  std::int64_t end_step = 0;
};

/// The run is over, not in order: whatever waits for other processes must wait no longer.
struct AbortRun {
  FailurePtr failure;
};

/// A step failed here first.
struct StepFailed {
  FailurePtr failure;
};

/// This actor has seen the end of the data and has all its credits back.
struct RunFinished {};

/// More work waits in the actor itself.
struct Continue {};

/// What this segment waits for, a collective or the end of its work on a device, may be there.
struct Advance {
  std::uint32_t segment = 0;
};

/// Work on a device is complete that a message which was held back waits for.
struct WorkCompleted {};

/// A process that was lost has come back: the link to it, for the stand-in of its actors. It counts from the next run
/// on from which the process is not absent.
struct LinkReplaced {
  std::shared_ptr<Link> link;
};

/// Say in the report what you are waiting for.
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

/// Gives a message its type id. Messages stay in the process, so CAF never writes them as bytes.
#define TROUPE_MESSAGE(name)              \
  CAF_ADD_TYPE_ID(troupe, (troupe::name)) \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::name)

// Beyond the ids that programs give their own messages: CAF's manual tells them to begin at first_custom_type_id.
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
