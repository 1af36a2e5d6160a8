#pragma once

#include <caf/config.hpp>
#include <caf/fwd.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace troupe {

/// The thread of an actor system, as CAF passes it to caf::resumable::resume().
#ifdef CAF_VERSION_MAJOR
using ExecutionUnit = caf::scheduler;
#else
using ExecutionUnit = caf::execution_unit;
#endif

struct SchedulerOptions {
  std::size_t workers = 1;
  /// Idle workers look for actors with mail for so long before they sleep.
  std::chrono::microseconds busy_poll{0};
  /// No workers: run_one() runs the actors.
  bool one_by_one = false;
  /// Called on every thread of the actor system when it begins.
  std::function<void()> on_thread_start;
};

/// Actors of a busy system take turns after that many messages. Without a limit an actor that sends itself mail starves
/// the others when there is one worker.
constexpr std::size_t kMessagesPerTurn = 256;

/// CAF starts at most that many threads beside the workers and those of detached actors.
constexpr int kThreadsOfCaf = 3;

/// Adds what the options say to the configuration, which must outlive the actor system. Throws what CAF throws.
std::unique_ptr<caf::actor_system> make_actor_system(caf::actor_system_config& config, const SchedulerOptions& options);

/// Runs one of the actors that have mail: one message of the actor number `draw(count)`, of `count`. False if none has
/// mail. The actor system has been made with `one_by_one`. Not thread-safe.
bool run_one(caf::actor_system& system, const std::function<std::size_t(std::size_t count)>& draw);

/// The actor runs on that worker, modulo their number, unless others are idle. Does nothing in an actor system that
/// make_actor_system() has not made. Thread-safe.
void prefer_worker(caf::actor_system& system, const caf::actor& actor, std::size_t worker);

}  // namespace troupe
