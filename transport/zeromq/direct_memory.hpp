#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <zmq.hpp>

namespace troupe::zeromq {

/// Returns an identity that is equal for processes that can connect to each other's abstract Unix sockets and know each
/// other by the same process numbers. It consists of the kernel's boot id, the network namespace, the pid namespace and
/// the user, because an endpoint refuses connections of other users to its Unix socket.
std::string host_identity();

/// If the kernel's security module Yama restricts reads of the memory of other processes to ancestors, exempts this
/// process from the restriction. Only processes of the same user can then read its memory.
void allow_memory_reads();

/// Returns the number of the process that has sent a message, as the kernel reports it (SO_PEERCRED). Returns nothing
/// unless the message has come over an ipc address, from a process of this user.
std::optional<std::int64_t> sending_process(const zmq::message_t& message);

/// Whether process `pid` has the value `nonce` at `address` of its memory, and this process can read it there.
bool has_nonce(std::int64_t pid, std::uint64_t address, std::uint64_t nonce);

/// A PayloadGuard in another process: the address of its word, and the value of the word while the payload is valid.
struct RemoteGuard {
  std::uint64_t address, valid_word;
};

/// Copies to.size() bytes from address `from` of process `pid`, without the cooperation of that process, and then
/// checks the word of the guard. Throws PayloadWithdrawn if the memory cannot be read, for example because the process
/// has ended, or if the guard is not valid any more.
void read_memory(std::int64_t pid, std::uint64_t from, std::span<std::byte> to, const RemoteGuard& guard);

}  // namespace troupe::zeromq
