#pragma once

#include <caf/send.hpp>
#include <utility>

namespace troupe {

template <caf::message_priority priority, class Message>
void tell(caf::event_based_actor& self, const caf::actor& receiver, Message&& message) {
  self.send<priority>(receiver, std::forward<Message>(message));
}

template <caf::message_priority priority, class Message>
void post(const caf::actor& receiver, Message&& message) {
  caf::anon_send<priority>(receiver, std::forward<Message>(message));
}

template <class Message>
void post(const caf::actor& receiver, Message&& message, std::chrono::nanoseconds delay) {
  caf::delayed_anon_send(receiver, delay, std::forward<Message>(message));
}

}  // namespace troupe
