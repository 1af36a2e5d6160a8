#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "troupe/tests/limits.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe::testing {

inline ClusterOptions options_of(int rank, int world_size, const std::string& address) {
  ClusterOptions options;
  options.job = resolve_job({rank, world_size, address}, [](const std::string&) { return std::nullopt; });
  options.limit = options.heartbeat_limit = patience();
  return options;
}

/// What every rank ended with: nothing, or an error.
using Ends = std::vector<std::string>;

/// Runs a function for every rank on a thread, as processes would.
inline Ends on_processes(int count, const std::function<void(int rank)>& function) {
  Ends ends(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      try {
        function(rank);
      } catch (const std::exception& error) {
        ends[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return ends;
}

}  // namespace troupe::testing
