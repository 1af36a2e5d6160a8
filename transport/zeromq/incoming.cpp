#include "troupe/transport/zeromq/incoming.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace troupe::zeromq {

Incoming::Incoming(zmq::context_t& context, zmq::socket_t& socket, const std::string& name,
                   std::function<std::size_t()> limit, std::function<void(const std::string& reason)> on_stranger)
    : monitor_(context, socket, name), limit_(std::move(limit)), on_stranger_(std::move(on_stranger)) {}

Incoming::~Incoming() {
  for (const auto& [descriptor, duplicate] : closing_) close(duplicate);
}

void Incoming::bind(const std::function<void()>& function) {
  monitor_.read_while(function);
  look();
}

void Incoming::look() {
  note_events();
  choose_excess();
  // Ends that were reported before choose_excess() made its duplicates.
  note_events();
  close_excess();
}

void Incoming::admit() {
  look();
  unproved_.clear();
}

void Incoming::note_events() {
  for (auto remaining = monitor_.most_unread(); remaining > 0; --remaining) {
    const auto event = monitor_.next();
    if (!event) return;
    note(*event);
  }
}

void Incoming::note(const SocketEvent& event) {
  if (event.number == ZMQ_EVENT_ACCEPTED && event.address.starts_with("tcp")) {
    open_.insert(event.value);
    unproved_.push_back(event.value);
  }
  if (event.number == ZMQ_EVENT_DISCONNECTED) remove(event.value);
  if (is_handshake_failure(event.number))
    on_stranger_("a process that does not prove that it belongs to the job has connected");
  if (event.number == ZMQ_EVENT_ACCEPT_FAILED && (event.value == EMFILE || event.value == ENFILE))
    on_stranger_("a process has connected, but no file descriptor is left");
}

void Incoming::remove(int descriptor) {
  open_.erase(descriptor);
  std::erase(unproved_, descriptor);
  if (const auto entry = closing_.find(descriptor); entry != closing_.end()) {
    close(entry->second);
    closing_.erase(entry);
  }
}

void Incoming::choose_excess() {
  while (open_.size() > limit_() && !unproved_.empty()) {
    const auto excess = unproved_.front();
    const auto duplicate = fcntl(excess, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0) return;
    unproved_.pop_front();
    open_.erase(excess);
    closing_.emplace(excess, duplicate);
  }
}

void Incoming::close_excess() {
  for (const auto& [descriptor, duplicate] : std::exchange(closing_, {})) {
    shutdown(duplicate, SHUT_RDWR);
    close(duplicate);
  }
}

}  // namespace troupe::zeromq
