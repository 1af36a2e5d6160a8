#pragma once

#include <caf/actor.hpp>
#include <caf/config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/fwd.hpp>
#include <chrono>
#include <functional>
#include <string>

// Programs and the library use CAF's mail through three functions, tell, post and watch, which are the same for every
// supported version of CAF. A message is one object, usually a struct: an rvalue is moved, any other object is copied.
// Mail to a null handle is dropped.

namespace troupe {

/// Sends a message with `self` as the sender. Must be called in a handler of `self`. A receiver that had no mail is
/// scheduled on its home worker, the thread that prefer_worker() in scheduler.hpp has set. Without a home worker it is
/// scheduled on the worker that runs `self`, or on any worker if `self` has a thread of its own. Mail of high priority
/// overtakes normal mail.
template <caf::message_priority priority = caf::message_priority::normal, class Message>
void tell(caf::event_based_actor& self, const caf::actor& receiver, Message&& message);

/// Sends a message without a sender. Thread-safe; meant for threads that run no actor, and for callbacks.
template <caf::message_priority priority = caf::message_priority::normal, class Message>
void post(const caf::actor& receiver, Message&& message);

/// Sends a message without a sender after a delay. The receiver stays alive until it has got the message. Thread-safe.
template <class Message>
void post(const caf::actor& receiver, Message&& message, std::chrono::nanoseconds delay);

/// A function that is called with the reason why an actor ended, as CAF gives it; the reason is empty for a normal end.
using OnActorEnd = std::function<void(const caf::error& reason)>;

/// An error of CAF as a text.
std::string error_text(const caf::actor_system& system, const caf::error& error);

/// Calls `on_end` once, as a handler of `self`, when `peer` ends: soon after this call if `peer` has already ended,
/// never if `self` ends first. Must be called in a handler of `self`. An actor may watch several peers, and one peer
/// several times; the calls come in any order. Classes of actors spell the name troupe::watch, because actors of CAF
/// 1.x have a member of that name. With CAF 0.17 an actor that watches must not call set_down_handler.
void watch(caf::event_based_actor& self, const caf::actor& peer, OnActorEnd on_end);

/// Sends `self`, a blocking actor, a caf::down_msg when `peer` ends.
void watch(caf::blocking_actor& self, const caf::actor& peer);

}  // namespace troupe

#ifdef CAF_VERSION_MAJOR
#include "troupe/actors/caf/mail_v1.hpp"
#else
#include "troupe/actors/caf/mail_v0_17.hpp"
#endif
