#pragma once

#include <caf/config.hpp>
#include <caf/fwd.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace troupe {

/// The type by which CAF passes the current thread of the actor system to caf::resumable::resume().
#ifdef CAF_VERSION_MAJOR
using ExecutionUnit = caf::scheduler;
#else
using ExecutionUnit = caf::execution_unit;
#endif

struct SchedulerOptions {
  std::size_t workers = 1;
  /// Time for which an idle worker polls for actors with mail before it sleeps.
  std::chrono::microseconds busy_poll{0};
  /// True: the actor system has no workers, and run_one() runs the actors.
  bool one_by_one = false;
  /// Called on every thread of the actor system when the thread begins.
  std::function<void()> on_thread_start;
};

/// An actor of a busy system yields its worker after this many messages. Without a limit, an actor that sends itself
/// mail starves the others when there is one worker.
constexpr std::size_t kMessagesPerTurn = 256;

/// CAF starts at most this many threads besides the workers and the threads of detached actors.
constexpr int kThreadsOfCaf = 3;

/// Makes an actor system with these options. Changes `config`, which must outlive the actor system. Exceptions of CAF
/// pass through.
std::unique_ptr<caf::actor_system> make_actor_system(caf::actor_system_config& config, const SchedulerOptions& options);

/// Lets one actor handle one message: of the `count` actors that have mail, the one with number `draw(count)`, counted
/// from 0. Returns false if no actor has mail. The actor system must have been made with `one_by_one`. Not thread-safe.
bool run_one(caf::actor_system& system, const std::function<std::size_t(std::size_t count)>& draw);

/// Sets the home worker of an actor. When the actor gets mail, it is put into the queue of this worker, from which an
/// idle worker may take it. `worker` is taken modulo the number of workers. Does nothing with `one_by_one`, or in an
/// actor system that make_actor_system() has not made. Thread-safe.
void prefer_worker(caf::actor_system& system, const caf::actor& actor, std::size_t worker);

}  // namespace troupe
