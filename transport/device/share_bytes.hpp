#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe::device {

// A few bytes of rank 0 for all ranks. They block until the bytes are there; after `limit` they throw Error that says
// who is missing.

/// Through a file that all see. Rank 0 makes it, and throws Error if it exists; nobody removes it.
std::vector<std::byte> share_by_file(const std::string& path, int rank, const std::vector<std::byte>& bytes,
                                     std::chrono::milliseconds limit);

/// Over TCP, at most 64 KiB: rank 0 listens at `address`, `host:port` or `[host]:port`, until all others have come.
std::vector<std::byte> share_by_tcp(const std::string& address, int rank, int ranks,
                                    const std::vector<std::byte>& bytes, std::chrono::milliseconds limit);

}  // namespace troupe::device
