#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe::device {

// These functions pass a few bytes from rank 0 to all ranks, and return them on every rank. The argument `bytes` of
// other ranks than 0 is not used. A rank blocks until it has the bytes, and throws Error that names rank 0 if they do
// not come within `limit`.

/// Passes the bytes through a file that all ranks see. Rank 0 writes the file without waiting for the other ranks, and
/// throws Error if the file exists or cannot be written. The file is not removed.
std::vector<std::byte> share_by_file(const std::string& path, int rank, const std::vector<std::byte>& bytes,
                                     std::chrono::milliseconds limit);

/// Passes the bytes, at most 64 KiB, over TCP. Rank 0 listens at `address`, `host:port` or `[host]:port`, until all
/// other ranks have the bytes, and throws Error that names the missing ranks after `limit`. Throws Error if the address
/// cannot be resolved, if rank 0 cannot listen there, or if there are more bytes.
std::vector<std::byte> share_by_tcp(const std::string& address, int rank, int ranks,
                                    const std::vector<std::byte>& bytes, std::chrono::milliseconds limit);

}  // namespace troupe::device
