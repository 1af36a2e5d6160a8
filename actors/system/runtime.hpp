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
  /// Threads of the actor system, besides the dedicated threads of segments. 0: usable_cores() (thread_pinning.hpp).
  int workers = 0;
  /// Logical CPU devices that devices() lists. 0: usable_cores(), and GPUs in their place if the machine
  /// has any. A strategy may name others, cpu:7 on two cores: a logical device is a thread.
  int cpu_devices = 0;
  /// Segments run on dedicated threads, each bound to a core. Off: everything runs on the workers.
  bool own_threads = true;
  /// No threads: whoever waits for a run drives CAF's test scheduler, which picks the next actor at random by this
  /// seed.
  std::optional<std::uint64_t> test_seed = {};
  /// How long a thread looks for messages before it sleeps: those of segments, and the workers if the process has a
  /// core for each of its threads. As long as a short step of a GPU, whose next launch would wait for a sleeping thread
  /// to wake. Segments on cores, which others may need, look for kPollOnCores at most.
  std::chrono::microseconds busy_poll{200};
  static constexpr std::chrono::microseconds kPollOnCores{50};
};

/// The actor system and this machine's devices. A handle: copies share the actor system, which lives until the last
/// copy and the last plan spawned on it have gone. Thread-safe but for run_one().
class Runtime {
 public:
  /// Makes an actor system. Throws Error if an option is out of range or the threads cannot be made.
  explicit Runtime(RuntimeOptions options = {});
  /// Uses an existing actor system, which must outlive this and all plans. Its configuration needs
  /// `register_messages<caf::id_block::troupe>(config)` (actors/caf/register_messages.hpp,
  /// actors/messages/messages.hpp); the program's own messages have type ids from caf::first_custom_type_id on.
  /// `workers` has no effect. Do not wait for a run on one of them: use TrainingRun::on_progress.
  explicit Runtime(caf::actor_system& system, RuntimeOptions options = {});

  caf::actor_system& system() const;
  /// The devices to train on: see RuntimeOptions::cpu_devices and default_devices().
  const std::vector<Device>& devices() const;
  const RuntimeOptions& options() const;

  /// With the test scheduler: lets one actor handle its messages. False if there are none.
  bool run_one() const;
  /// A number below `count`, drawn from the test seed.
  std::size_t draw(std::size_t count) const;
  /// True on a thread of the actor system that this made, which must not wait for its actors. Always false on an
  /// existing actor system.
  bool on_own_thread() const;
  /// The actor runs on that worker (modulo their number) unless others are idle. Does nothing on an existing actor
  /// system.
  void prefer_worker(const caf::actor& actor, int worker) const;
  /// Throws Error if no further thread can be made.
  void check_thread() const;
  /// An actor is stuck in code that does not return. The actor system is not taken down then: its threads are left
  /// behind, so that the process can end, and a line on stderr says why.
  void leave_behind(const std::string& actor) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace troupe
