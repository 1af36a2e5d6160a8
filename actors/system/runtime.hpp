#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/caf/fwd.hpp"
#include "troupe/ops/core/device.hpp"

namespace troupe {

struct RuntimeOptions {
  /// Number of workers, the threads of the actor system that run any actor. 0: usable_cores() (thread_pinning.hpp).
  /// Dedicated threads of executors (see own_threads) come on top.
  int workers = 0;
  /// Number of logical CPU devices that devices() lists. 0: all GPUs of the machine, or usable_cores() CPU devices if
  /// it has none. A strategy may name other devices, such as cpu:7 on two cores: a logical device is a thread.
  int cpu_devices = 0;
  /// An executor is an actor that runs one or several segments of a plan, which are groups of plan actors. True: it has
  /// a dedicated thread if one of its segments has PlanSegment::own_thread; the thread is bound to a core if the device
  /// is a CPU. False: every executor runs on the workers.
  bool own_threads = true;
  /// If set, the actor system has no threads, and `own_threads` becomes false: the thread that waits for a run executes
  /// the actors itself, one message at a time, and picks the next actor at random by this seed.
  std::optional<std::uint64_t> test_seed = {};
  /// Time for which an idle thread polls for messages before it sleeps. Dedicated threads poll if `cpu_devices` is at
  /// most usable_cores(); workers poll while the process has a core for each of its awake threads that run actors. The
  /// default is as long as a short step of a GPU, whose next launch would wait for a sleeping thread to wake. Dedicated
  /// threads for CPU devices poll for kPollOnCores at most, because other threads may need their cores.
  std::chrono::microseconds busy_poll{200};
  static constexpr std::chrono::microseconds kPollOnCores{50};
};

/// The actor system and this machine's devices. A handle: copies share the actor system. An actor system that the
/// runtime has made lives until the last copy and the last plan spawned on it are destroyed. Thread-safe, except
/// run_one() and draw().
class Runtime {
 public:
  /// Makes an actor system. Throws Error if `workers` or `cpu_devices` is negative, or if the threads cannot be made.
  explicit Runtime(RuntimeOptions options = {});
  /// Uses an existing actor system, which must outlive this runtime and all plans. Its configuration needs
  /// `register_messages<caf::id_block::troupe>(config)` (actors/caf/register_messages.hpp,
  /// actors/messages/messages.hpp); the program's own messages have type ids from caf::first_custom_type_id on.
  /// `workers` has no effect. Do not wait for a run on a thread of the actor system: use TrainingRun::on_progress.
  explicit Runtime(caf::actor_system& system, RuntimeOptions options = {});

  caf::actor_system& system() const;
  /// The devices to train on: see RuntimeOptions::cpu_devices and default_devices().
  const std::vector<Device>& devices() const;
  const RuntimeOptions& options() const;

  /// Lets one actor, picked by the seed, handle one message. Returns false if no actor has mail.
  /// RuntimeOptions::test_seed must be set.
  bool run_one() const;
  /// The next random number below `count`, drawn from the test seed.
  std::size_t draw(std::size_t count) const;
  /// True on a thread of the actor system that this runtime has made. Such a thread must not wait for the system's
  /// actors. Always false if the runtime uses an existing actor system.
  bool on_own_thread() const;
  /// Sets the worker that runs an actor; an idle worker may run the actor in its place. `worker` is taken modulo the
  /// number of workers. Does nothing if `test_seed` is set, or if the program has made the actor system.
  void prefer_worker(const caf::actor& actor, int worker) const;
  /// Throws Error if no further thread can be made.
  void check_thread() const;
  /// Records that an actor is stuck in code that does not return. When the last copy of the runtime goes, the actor
  /// system is then not destroyed: its threads are left behind, so that the process can end, and a line on stderr names
  /// the actor.
  void leave_behind(const std::string& actor) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace troupe
