#pragma once

#include <caf/actor.hpp>
#include <cstdint>
#include <memory>

#include "troupe/actors/messages/call_result.hpp"

namespace troupe {

struct OrderedCall;
struct PendingCall;

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
