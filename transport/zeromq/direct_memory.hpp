#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "troupe/transport/endpoint.hpp"

namespace troupe::zeromq {

/// An identity that is equal for processes that can use each other's abstract local sockets and process numbers: the
/// kernel's boot, its network namespace and its process number namespace.
std::string host_identity();

/// Fills in the pid and the probe of this process, by which others find out whether they can read its memory. Where the
/// kernel requires consent (Yama's ptrace scope), it lifts that restriction for this process.
void offer_memory(EndpointAddress& address);

/// Whether this process can read the memory of the process at the address: it reads the probe there and compares the
/// value.
bool can_read_memory(const EndpointAddress& address);

/// The guard of a payload in another process: the address of its word, and the value of the word while the payload is
/// valid.
struct RemoteGuard {
  std::uint64_t address, valid_word;
};

/// Copies bytes from the memory of a process without its cooperation, then checks the word of their guard. Throws
/// PayloadWithdrawn if the process is gone or the guard is no longer valid.
void read_memory(std::int64_t pid, std::uint64_t from, std::span<std::byte> to, const RemoteGuard& guard);

}  // namespace troupe::zeromq
