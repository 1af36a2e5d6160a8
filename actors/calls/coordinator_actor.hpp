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

/// What the actor behind a Coordinator tells whoever waits for it.
struct CallMonitor {
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t open = 0;   // open calls
  std::int64_t ended = 0;  // how often one has ended
  int workers = 0;
  std::string first_error;
};

/// Spawns the actor that keeps a CallBoard: takes calls that are scheduled, sends them to workers that have joined, and
/// applies what comes of each once.
caf::actor spawn_coordinator(caf::actor_system& system, int in_flight, std::shared_ptr<CallMonitor> monitor,
                             std::shared_ptr<Variables> variables);

}  // namespace troupe
