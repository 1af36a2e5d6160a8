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

// The actors that distribute and execute calls. The message Stop ends each of them.

namespace troupe {

/// A scheduled call, and the promise of its outputs or its error.
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
/// joined, at most `in_flight` at a time to each. It applies the first result of each call: adds the result's updates
/// to `variables`, and sets PendingCall::result to the outputs. If a call fails, it sets the results of all open calls
/// to errors.
caf::actor spawn_coordinator(caf::actor_system& system, int in_flight, std::shared_ptr<CallMonitor> monitor,
                             std::shared_ptr<Variables> variables);

/// Spawns the proxy of a worker in another process. The proxy forwards calls over the link, sends the results to
/// `coordinator`, and answers the worker's reads of variables. When the link has failed or has carried a damaged frame,
/// the proxy closes the link, reports the worker as lost, and ends.
caf::actor spawn_remote_worker(caf::actor_system& system, int worker, std::shared_ptr<Link> link,
                               const caf::actor& coordinator, std::shared_ptr<const Variables> variables);

/// A function that gets the number and the result of a call that a worker has executed. Called on any thread.
using OnCallResult = std::function<void(std::int64_t call, CallResult result)>;

/// Spawns an actor that executes calls (CallOrdered messages) in this process, one after the other in the order in
/// which they arrive, and calls `on_result` after each. If `own_thread` is true, the actor has a thread of its own;
/// else it runs on the threads of the actor system.
caf::actor spawn_call_worker(caf::actor_system& system, bool own_thread, std::shared_ptr<const CallFunctions> functions,
                             ReadVariable read, OnCallResult on_result);

}  // namespace troupe
