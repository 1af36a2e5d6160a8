#pragma once

#include <caf/anon_mail.hpp>
#include <caf/send.hpp>
#include <utility>

namespace troupe {

template <caf::message_priority priority, class Message>
void tell(caf::event_based_actor& self, const caf::actor& receiver, Message&& message) {
  if constexpr (priority == caf::message_priority::high)
    self.mail(std::forward<Message>(message)).urgent().send(receiver);
  else
    self.mail(std::forward<Message>(message)).send(receiver);
}

template <caf::message_priority priority, class Message>
void post(const caf::actor& receiver, Message&& message) {
  if constexpr (priority == caf::message_priority::high)
    caf::anon_mail(std::forward<Message>(message)).urgent().send(receiver);
  else
    caf::anon_mail(std::forward<Message>(message)).send(receiver);
}

template <class Message>
void post(const caf::actor& receiver, Message&& message, std::chrono::nanoseconds delay) {
  caf::anon_mail(std::forward<Message>(message)).delay(delay).send(receiver);
}

}  // namespace troupe
