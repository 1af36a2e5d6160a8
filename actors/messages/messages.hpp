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

// The messages that actors of a plan exchange. A name with a verb, such as PauseSources, is an order to the receiver; a
// name with a participle, such as SourcePaused, reports a fact. The supervisor wires and watches all actors of one
// process's part of a plan. `sources` are the actors that make data without waiting for inputs. SpawnedPlan owns the
// actors.
//
//   supervisor -> all        Wire, PrepareRun      answered by Prepared
//   supervisor -> sources    StartSources, PauseSources, RunUntil
//   producer   -> consumer   TensorReady, DataEnded
//   consumer   -> producer   CreditReturned, ConsumerLost
//   all        -> supervisor Prepared, StepFailed, SourcePaused, RunFinished, AbortRun
//   SpawnedPlan -> all       Describe (answered by lines in a stall report)
//   supervisor or SpawnedPlan -> all   Stop
//
// An actor of a plan that does not derive from Participant must handle every message that its producers, its consumers,
// the supervisor and SpawnedPlan send to it: CAF answers an unknown message with an error that ends the sender.
//
// Work on a device may still be running when a message is sent. Once the event in the message is done, the tensor of
// TensorReady holds its elements, or the slot of CreditReturned may be overwritten. An actor on a device makes its
// stream wait for the event. In an actor on the host, Ports holds the message back until its event is done.
//
// `port` is the number of an input of the consumer, `output` the number of an output of the producer.

namespace troupe {

struct OrderedCall;
struct PendingCall;

/// The run and the step for which a message was sent. `generation` is a number that every spawning of a plan gets anew;
/// a message of another generation is dropped. A tensor of a run for which the receiver is not yet prepared waits at
/// its input.
struct Stamp {
  std::uint64_t generation = 0;
  std::uint64_t run = 0;
  std::int64_t step = 0;
};

/// A tensor for an input. It fills one slot of the edge until every consumer has returned the slot. A failure in place
/// of the tensor says that the step cannot be computed; it fills a slot in the same way.
struct TensorReady {
  std::uint32_t port = 0;
  std::uint32_t slot = 0;
  Stamp stamp;
  Tensor tensor;
  FailurePtr failure;
  /// The tensor holds its elements once this event is done.
  Event ready = {};
  /// The collective that the producer has begun, if the producer is a conductor: an actor that begins collectives for
  /// the ranks of its process. Null if the producer is another actor, or if the collective could not begin. An edge
  /// from a conductor never leads to another process.
  std::shared_ptr<CollectiveStart> start = {};
};

/// A consumer is done with a slot and has dropped its handle to the tensor.
struct CreditReturned {
  std::uint32_t output = 0;
  std::uint32_t slot = 0;
  std::uint32_t consumer = 0;  ///< number of the sender among the consumers of the output
  std::uint64_t generation = 0;
  /// The slot may be overwritten once this event is done.
  Event last_use = {};
  /// True: the consumer has not used the tensor, because another input that the consumer needs was lost, or because the
  /// consumer itself was lost.
  bool refused = false;
};

/// The producer sends no further tensor to this input in the run of the stamp.
struct DataEnded {
  std::uint32_t port = 0;
  Stamp stamp;
  /// True: the process of the producer was lost before the end of the data.
  bool lost = false;
};

/// The process of a consumer takes no part in a run, or was lost in it: the consumer returns every further tensor of
/// the run unused.
struct ConsumerLost {
  std::uint32_t output = 0;
  std::uint32_t consumer = 0;  ///< number of the consumer among the consumers of the output
  std::uint64_t generation = 0;
  std::uint64_t run = 0;
};

struct ConsumerPort {
  caf::actor actor;
  std::uint32_t port = 0;
  /// True if the consumer reads host memory.
  bool on_host = true;
};

struct ProducerOutput {
  caf::actor actor;
  std::uint32_t output = 0;
  std::uint32_t consumer = 0;
};

/// The consumer's end of an edge. On an edge with initial tokens, the consumer leaves the last `initial_tokens` tensors
/// of a run unused: the next run begins with them.
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

/// Connects the receiver: its edges, with the actors at their other ends, and the parameters that it holds. Sent once,
/// before the first run.
struct Wire {
  std::uint64_t generation = 0;
  /// The rank of the receiver's process, which failures name; -1 if the plan has one part.
  int rank = -1;
  /// The receiver's name in the plan, and the state that it publishes.
  std::shared_ptr<ExecutorStatus> status;
  caf::actor supervisor;
  std::vector<InputWire> inputs;
  std::vector<OutputWire> outputs;
  std::vector<HeldTensor> parameters = {};
};

/// The receiver prepares for a run of the steps first_step, first_step + 1, ...
struct PrepareRun {
  std::uint64_t run = 0;  ///< number of the run, from 1
  RunInfo info;
  /// Ranks of the processes that take no part in the run. Each is one of Plan::expendable, whose loss does not end a
  /// run.
  std::vector<int> absent = {};
};

/// The sender has carried out Wire or PrepareRun. After PrepareRun, `end_step` is the step before which the sender's
/// sources end; kLastStep if the sender has no source, or if the end of its sources is unknown.
struct Prepared {
  std::int64_t end_step = kLastStep;
};

/// The sources of the receiver may fire the steps before `end_step`.
struct StartSources {
  std::int64_t end_step = kLastStep;
};

/// The sources of the receiver stop firing. The receiver answers with SourcePaused.
struct PauseSources {
  std::uint64_t run = 0;
};

/// The sender's sources are paused until RunUntil. `next_step` is the step after the highest step that one of them has
/// emitted.
struct SourcePaused {
  std::uint64_t run = 0;
  std::int64_t next_step = 0;
};

/// The sources of the receiver fire the steps before `end_step` and end there.
struct RunUntil {
  std::int64_t end_step = 0;
};

/// The run ends without completing the steps that have begun, because another process is lost or the run was given up.
/// The receiver is the supervisor. It aborts the communicators of its process, so that no actor waits for another
/// process.
struct AbortRun {
  FailurePtr failure;
};

/// A step failed. Sent by the actor that detects the failure, not by the consumers that receive the failure in place of
/// a tensor.
struct StepFailed {
  FailurePtr failure;
};

/// The run is over for the sender: it fires no more, and the slots of its outputs are free. LinkActor, the proxy of the
/// actors of another process, sends this when a run begins: the run still lasts until the producers whose tensors it
/// passes on have finished.
struct RunFinished {};

/// The receiver has more work. A SegmentActor sends this to itself if one of its sources can fire again, so that other
/// actors run first. The listener of a Link sends it to the actor that reads from the link when frames have come or the
/// link has failed.
struct Continue {};

/// The collective, or the work on a device, for which a segment of the receiver waits may have made progress. `segment`
/// is the number of the segment among those of the receiver.
struct Advance {
  std::uint32_t segment = 0;
};

/// Work on a device, for which the receiver's Ports holds a message back, is complete.
struct WorkCompleted {};

/// A lost process has come back. The receiver, which is the proxy of the actors of that process, uses `link` from the
/// next run on in which that process takes part.
struct LinkReplaced {
  std::shared_ptr<Link> link;
};

/// The receiver adds lines to the report that say for what it waits.
struct Describe {
  std::shared_ptr<StallReport> report;
};

/// The receiver drops all handles and quits.
struct Stop {};

// ---- Calls of functions: messages of a Coordinator's actor and the actors of its workers, which execute the calls

/// The program has scheduled a call. Sent to the Coordinator's actor, which orders a worker to execute it.
struct CallScheduled {
  std::shared_ptr<PendingCall> call;
};

/// The worker executes call number `call`.
struct CallOrdered {
  std::int64_t call = 0;
  std::shared_ptr<const OrderedCall> what;
};

/// A worker has executed call number `call`, or cannot execute it.
struct CallEnded {
  std::int64_t call = 0;
  CallResult result;
};

/// Worker number `worker` takes calls from now on. `actor` receives the calls, and executes them or sends them to the
/// worker's process.
struct WorkerJoined {
  int worker = 0;
  caf::actor actor;
};

/// Worker number `worker` has ended, or its process is lost: it sends no further CallEnded.
struct WorkerLost {
  int worker = 0;
};

}  // namespace troupe

/// Gives a message its type id. Messages stay in the process, so CAF never serializes them.
#define TROUPE_MESSAGE(name)              \
  CAF_ADD_TYPE_ID(troupe, (troupe::name)) \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::name)

// Type ids of a program's own messages begin at caf::first_custom_type_id, as CAF's manual says. The ids of the library
// begin 1,000 later, so that both fit.
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
TROUPE_MESSAGE(ConsumerLost)
CAF_END_TYPE_ID_BLOCK(troupe)

#undef TROUPE_MESSAGE
