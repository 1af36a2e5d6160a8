#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe::device {

// These functions pass a few bytes of rank 0 to all ranks and return them. They block until the bytes are there. After
// `limit` they throw Error that names the missing ranks.

/// Passes the bytes through a file that all ranks see. Rank 0 makes it, and throws Error if it exists. The file is not
/// removed.
std::vector<std::byte> share_by_file(const std::string& path, int rank, const std::vector<std::byte>& bytes,
                                     std::chrono::milliseconds limit);

/// Passes at most 64 KiB over TCP. Rank 0 listens at `address`, `host:port` or `[host]:port`, until all other ranks
/// have come.
std::vector<std::byte> share_by_tcp(const std::string& address, int rank, int ranks,
                                    const std::vector<std::byte>& bytes, std::chrono::milliseconds limit);

}  // namespace troupe::device
