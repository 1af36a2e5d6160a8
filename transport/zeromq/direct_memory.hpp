#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "troupe/transport/endpoint.hpp"

namespace troupe::zeromq {

/// Returns an identity that is equal for processes that can connect to each other's abstract Unix sockets and know each
/// other by the same process numbers. It consists of the kernel's boot id, the network namespace and the pid namespace.
std::string host_identity();

/// Sets the fields `pid`, `probe_address` and `probe_value` of `address` for this process; by the probe, a number in
/// its memory, other processes find out whether they can read that memory. If the kernel's security module Yama
/// restricts such reads, exempts this process from the restriction.
void offer_memory(EndpointAddress& address);

/// Whether this process can read the memory of the process at `address`: reads the probe there and compares its value.
bool can_read_memory(const EndpointAddress& address);

/// A PayloadGuard in another process: the address of its word, and the value of the word while the payload is valid.
struct RemoteGuard {
  std::uint64_t address, valid_word;
};

/// Copies to.size() bytes from address `from` of process `pid`, without the cooperation of that process, and then
/// checks the word of the guard. Throws PayloadWithdrawn if the memory cannot be read, for example because the process
/// has ended, or if the guard is not valid any more.
void read_memory(std::int64_t pid, std::uint64_t from, std::span<std::byte> to, const RemoteGuard& guard);

}  // namespace troupe::zeromq
