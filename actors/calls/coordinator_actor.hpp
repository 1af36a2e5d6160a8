#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "troupe/actors/calls/variables.hpp"

namespace troupe {

/// State that the actor behind a Coordinator shares with the waiting thread.
struct CallMonitor {
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t open = 0;   // open calls
  std::int64_t ended = 0;  // calls that have ended
  int workers = 0;
  std::string first_error;
};

/// Spawns the actor that keeps a CallBoard. It sends scheduled calls to the workers that have joined, and applies the
/// result of each call once.
caf::actor spawn_coordinator(caf::actor_system& system, int in_flight, std::shared_ptr<CallMonitor> monitor,
                             std::shared_ptr<Variables> variables);

}  // namespace troupe
