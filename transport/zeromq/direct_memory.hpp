#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "troupe/transport/endpoint.hpp"

namespace troupe::zeromq {

/// What processes have in common that may read each other's memory and use local sockets: the kernel since its start,
/// and its spaces of networks and of process numbers.
std::string host_identity();

/// Fills in what lets other processes find out whether they can read this one's memory, and lets them where the kernel
/// asks for consent (Yama's ptrace scope).
void offer_memory(EndpointAddress& address);

/// Whether this process can read the memory of that one.
bool can_read_memory(const EndpointAddress& address);

/// The guard of a payload in another process: where its word lies, and what it holds while the payload is valid.
struct RemoteGuard {
  std::uint64_t address, valid_word;
};

/// Copies bytes from the memory of a process without its help, then looks at the word of their guard. Throws
/// PayloadWithdrawn if the process is gone or the guard is not valid.
void read_memory(std::int64_t pid, std::uint64_t from, std::span<std::byte> to, const RemoteGuard& guard);

}  // namespace troupe::zeromq
