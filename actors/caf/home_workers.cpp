#include "troupe/actors/caf/home_workers.hpp"

#include <caf/scheduled_actor.hpp>

namespace troupe {

// This function is not inline: inlined into CAF's scheduler, which also has jobs that are not actors, its cast would
// cause a warning of g++ 12.
caf::actor_id HomeWorkers::id_of(const caf::resumable* job) {
  return job->subtype() == caf::resumable::scheduled_actor ? static_cast<const caf::scheduled_actor*>(job)->id() : 0;
}

}  // namespace troupe
