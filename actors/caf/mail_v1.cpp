#include "troupe/actors/caf/mail.hpp"

#include <caf/blocking_actor.hpp>
#include <caf/error.hpp>

namespace troupe {

std::string error_text(const caf::actor_system&, const caf::error& error) {
  return caf::to_string(error);
}

void watch(caf::event_based_actor& self, const caf::actor& peer, OnActorEnd on_end) {
  self.monitor(peer, [on_end = std::move(on_end)](const caf::error& reason) { on_end(reason); });
}

void watch(caf::blocking_actor& self, const caf::actor& peer) {
  self.monitor(peer);
}

}  // namespace troupe
