#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/actors/calls/remote_call.hpp"
#include "troupe/transport/link.hpp"

// The actors that distribute and execute calls. A Stop ends each of them.

namespace troupe {

/// A scheduled call, and its result.
struct PendingCall {
  OrderedCall call;
  std::promise<std::vector<Tensor>> result = {};
};

/// State that the coordinator actor shares with the thread that uses the Coordinator. The actor notifies `changed` when
/// calls have ended or the number of workers has changed.
struct CallMonitor {
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t open = 0;   // number of scheduled calls that have not ended
  std::int64_t ended = 0;  // number of calls that have ended
  int workers = 0;
  std::string first_error;
};

/// Spawns the coordinator actor, which keeps a CallBoard. The actor sends scheduled calls to the workers that have
/// joined, and applies the result of each call once: adds its updates to `variables`, and sets PendingCall::result.
caf::actor spawn_coordinator(caf::actor_system& system, int in_flight, std::shared_ptr<CallMonitor> monitor,
                             std::shared_ptr<Variables> variables);

/// Spawns the proxy of a worker in another process. The proxy forwards calls over the link, sends the results to
/// `coordinator`, and answers the worker's reads of variables. When the link has failed, the proxy reports the worker
/// as lost, and ends.
caf::actor spawn_remote_worker(caf::actor_system& system, int worker, std::shared_ptr<Link> link,
                               const caf::actor& coordinator, std::shared_ptr<const Variables> variables);

/// Called with the result of a call that a worker has executed, on any thread.
using OnCallResult = std::function<void(std::int64_t call, CallResult result)>;

/// Spawns a worker of this process. The worker executes calls (CallOrdered) one after the other, in the order in which
/// they arrive: on a thread of its own if `own_thread` is true, else on the threads of the actor system.
caf::actor spawn_call_worker(caf::actor_system& system, bool own_thread, std::shared_ptr<const CallFunctions> functions,
                             ReadVariable read, OnCallResult on_result);

}  // namespace troupe
