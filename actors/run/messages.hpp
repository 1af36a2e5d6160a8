#pragma once

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/type_id.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/run/failure.hpp"
#include "troupe/actors/run/run_status.hpp"
#include "troupe/ops/core/tensor.hpp"

// Every message that actors of a plan exchange. Facts are past participles, orders are verbs.
//
//   supervisor -> all      Wire, Begin           answered by Prepared
//   supervisor -> sources  Start, Pause, RunUntil
//   producer   -> consumer TensorReady, EndOfData
//   consumer   -> producer CreditReturned
//   all        -> supervisor Prepared, StepFailed, SourcePaused, RunFinished
//   supervisor -> all      Describe (a stalled run wants to know), Stop
//
// An actor that handles them itself, without PortActor, must know all that its place in the plan can receive: CAF
// answers an unknown message by an error that ends its sender.
//
// A port is the number of an input of an actor, an output the number of one of its outputs.

namespace troupe {

/// An input is there: one slot of the edge is full until every consumer has returned it. With a failure instead of a
/// tensor the step cannot be computed; the credit is returned all the same.
struct TensorReady {
  std::uint32_t port = 0;
  std::uint32_t slot = 0;
  Tensor tensor;
  FailurePtr failure;
};

/// A consumer is done with a slot and has dropped its handle to the tensor.
struct CreditReturned {
  std::uint32_t output = 0;
  std::uint32_t slot = 0;
  std::uint32_t consumer = 0;  ///< which consumer of the output returns it, as its InputWire says
};

/// Nothing more comes over this edge in this run.
struct EndOfData {
  std::uint32_t port = 0;
};

struct ConsumerPort {
  caf::actor actor;
  std::uint32_t port = 0;
};

struct ProducerOutput {
  caf::actor actor;
  std::uint32_t output = 0;
  std::uint32_t consumer = 0;
};

/// An input as its actor sees it. One with initial tokens never ends; its last token stays for the next run.
struct InputWire {
  ProducerOutput producer;
  std::uint32_t capacity = 1;
  std::uint32_t initial_tokens = 0;
  std::string edge;
  std::string producer_name;
};

/// An output as its actor sees it.
struct OutputWire {
  std::vector<ConsumerPort> consumers;
  std::uint32_t capacity = 1;
  std::uint32_t initial_tokens = 0;
  std::string edge;
  std::vector<std::string> consumer_names;
};

/// Who is at the other end of every edge. Sent once.
struct Wire {
  /// The receiver's name in the plan, and where it counts its firings.
  std::shared_ptr<HostStatus> status;
  caf::actor supervisor;
  std::vector<InputWire> inputs;
  std::vector<OutputWire> outputs;
};

/// A run is about to start: make ready for steps first_step, first_step + 1, ...
struct Begin {
  std::uint64_t run = 0;  ///< number of the run
  std::int64_t first_step = 0;
  std::int64_t max_steps = 0;
  std::int64_t epoch = 0;
};

/// Wire or Begin has been carried out.
struct Prepared {};

/// Sources may fire.
struct Start {};

/// The step before which a run ends, at most.
inline std::int64_t end_of(const Begin& order) {
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  return order.max_steps > kLast - order.first_step ? kLast : order.first_step + order.max_steps;
}

/// Sources stop firing and say where they are.
struct Pause {
  std::uint64_t run = 0;
};

/// A source will not fire again before RunUntil; `next_step` is the first step that it has not emitted.
struct SourcePaused {
  std::uint64_t run = 0;
  std::int64_t next_step = 0;
};

/// Sources go on up to, not including, `step`, and end there.
struct RunUntil {
  std::int64_t step = 0;
};

/// A step failed here first.
struct StepFailed {
  FailurePtr failure;
};

/// This actor has seen the end of the data and has all its credits back.
struct RunFinished {};

/// More work waits in the actor itself.
struct Continue {};

/// A collective of this segment may be able to go on.
struct Advance {
  std::uint32_t segment = 0;
};

/// Say in the report what you are waiting for.
struct Describe {
  std::shared_ptr<StallReport> report;
};

/// Drop all handles and quit.
struct Stop {};

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe, first_custom_type_id)
CAF_ADD_TYPE_ID(troupe, (troupe::TensorReady))
CAF_ADD_TYPE_ID(troupe, (troupe::CreditReturned))
CAF_ADD_TYPE_ID(troupe, (troupe::EndOfData))
CAF_ADD_TYPE_ID(troupe, (troupe::Wire))
CAF_ADD_TYPE_ID(troupe, (troupe::Begin))
CAF_ADD_TYPE_ID(troupe, (troupe::Prepared))
CAF_ADD_TYPE_ID(troupe, (troupe::Start))
CAF_ADD_TYPE_ID(troupe, (troupe::Pause))
CAF_ADD_TYPE_ID(troupe, (troupe::SourcePaused))
CAF_ADD_TYPE_ID(troupe, (troupe::RunUntil))
CAF_ADD_TYPE_ID(troupe, (troupe::StepFailed))
CAF_ADD_TYPE_ID(troupe, (troupe::RunFinished))
CAF_ADD_TYPE_ID(troupe, (troupe::Continue))
CAF_ADD_TYPE_ID(troupe, (troupe::Advance))
CAF_ADD_TYPE_ID(troupe, (troupe::Describe))
CAF_ADD_TYPE_ID(troupe, (troupe::Stop))
CAF_END_TYPE_ID_BLOCK(troupe)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::TensorReady)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::CreditReturned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::EndOfData)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Begin)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Prepared)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Start)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Pause)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::SourcePaused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::RunUntil)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::StepFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::RunFinished)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Continue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Advance)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Describe)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Stop)
