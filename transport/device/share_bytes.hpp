#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace troupe::device {

// These functions pass the argument `bytes` of rank 0, a few bytes, to all ranks, and return them on every rank. All
// ranks must call the same function. On ranks other than 0 the argument is ignored; these ranks block until they have
// the bytes, and throw Error that names rank 0 if the bytes do not come within `limit`.

/// Passes the bytes through a file that all ranks see. Rank 0 writes the file without waiting for the other ranks, and
/// throws Error if the file exists or cannot be written. The file is not removed.
std::vector<std::byte> share_by_file(const std::string& path, int rank, const std::vector<std::byte>& bytes,
                                     std::chrono::milliseconds limit);

/// Passes from 1 byte to 64 KiB over TCP, neither encrypted nor authenticated: in networks that are not trusted, pass
/// the bytes over the links of a Cluster. Rank 0 listens at `address`, `host:port` or `[host]:port`, until all other
/// ranks have the bytes, and throws Error that names the missing ranks if this takes longer than `limit`. Throws Error
/// if the address cannot be resolved, or, on rank 0, if it cannot listen there or if `bytes` is longer than 64 KiB.
std::vector<std::byte> share_by_tcp(const std::string& address, int rank, int ranks,
                                    const std::vector<std::byte>& bytes, std::chrono::milliseconds limit);

}  // namespace troupe::device
