#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

/// Counts of the connections and bytes by which strangers have flooded the listeners of a job.
struct FloodCount {
  std::uint64_t connections = 0, bytes = 0;
};

/// Holds up to `connections` connections to each address (tcp://127.0.0.1:port or ipc://@name) until `stop`, a file
/// descriptor, can be read. A connection is silent, sends garbage, or does the handshake of ZeroMQ with a drawn
/// mechanism and sends frames of drawn sizes; it is made again when the other end closes it. The draws depend on `seed`
/// alone.
FloodCount flood(const std::vector<std::string>& addresses, int connections, std::uint64_t seed, int stop);

/// Returns the addresses at which a process listens.
std::vector<std::string> listeners_of(int pid);

}  // namespace troupe::testing
