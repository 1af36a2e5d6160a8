#include "troupe/actors/caf/mail.hpp"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/error.hpp>
#include <memory>
#include <vector>

namespace troupe {

namespace {

/// The handler of all down messages of one actor. For each message it removes one watch on the actor that has ended and
/// calls the function of that watch. Copies share the watches.
class Watches {
 public:
  void add(const caf::actor& peer, OnActorEnd on_end) { watches_->push_back({peer.address(), std::move(on_end)}); }

  void operator()(caf::scheduled_actor* self, caf::down_msg& down) const {
    // CAF has moved the handler out of the actor for this call. It is set again first, because on_end() may watch
    // another actor.
    self->set_down_handler(*this);
    const auto ended = std::ranges::find(*watches_, down.source, &Watch::peer);
    if (ended == watches_->end()) return;
    const auto on_end = std::move(ended->on_end);
    watches_->erase(ended);
    on_end(down.reason);
  }

 private:
  struct Watch {
    caf::actor_addr peer;
    OnActorEnd on_end;
  };

  std::shared_ptr<std::vector<Watch>> watches_ = std::make_shared<std::vector<Watch>>();
};

/// Gives access to an actor's current handler of down messages, for which CAF has no public function.
class DownHandler : public caf::scheduled_actor {
 public:
  static down_handler& of(caf::scheduled_actor& self) { return self.*(&DownHandler::down_handler_); }
};

}  // namespace

std::string error_text(const caf::actor_system& system, const caf::error& error) {
  return system.render(error);
}

void watch(caf::event_based_actor& self, const caf::actor& peer, OnActorEnd on_end) {
  auto& handler = DownHandler::of(self);
  if (handler.target<Watches>() == nullptr) handler = Watches();
  handler.target<Watches>()->add(peer, std::move(on_end));
  self.monitor(peer);
}

void watch(caf::blocking_actor& self, const caf::actor& peer) {
  self.monitor(peer);
}

}  // namespace troupe
