#include "troupe/actors/caf/home_workers.hpp"

#include <caf/scheduled_actor.hpp>

namespace troupe {

// Not inline: CAF's scheduler also has jobs that are not actors, and g++ 12 would warn of the cast if it was inlined
// there.
caf::actor_id HomeWorkers::id_of(const caf::resumable* job) {
  return job->subtype() == caf::resumable::scheduled_actor ? static_cast<const caf::scheduled_actor*>(job)->id() : 0;
}

}  // namespace troupe
