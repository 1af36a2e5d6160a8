#pragma once

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "troupe/ops/core/device.hpp"

namespace troupe {

struct RuntimeOptions {
  /// Threads of the actor system, besides those that segments have of their own. 0: as many as there are cores.
  int workers = 0;
  /// Logical CPU devices. 0: as many as there are cores.
  int cpu_devices = 0;
  /// Segments run on threads of their own, each bound to a core. Off: everything runs on the workers.
  bool own_threads = true;
  /// No threads: whoever waits for a run drives CAF's test scheduler, which picks the next actor at random by this
  /// seed.
  std::optional<std::uint64_t> test_seed = {};
  /// How long a segment's own thread looks for messages before it sleeps.
  std::chrono::microseconds linger{50};
};

/// The actor system and this machine's devices. Everything that is spawned on it must be gone before it is.
class Runtime {
 public:
  explicit Runtime(RuntimeOptions options = {});

  caf::actor_system& system() { return *system_; }
  const std::vector<Device>& devices() const { return devices_; }
  const RuntimeOptions& options() const { return options_; }

  /// With the test scheduler: lets one actor handle its mail. False if none has any.
  bool run_one();

 private:
  RuntimeOptions options_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<Device> devices_;
  std::uint64_t picks_ = 0;
};

}  // namespace troupe
