#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

/// Returns true if this build has MPI.
bool has_mpi();

/// Makes a communicator with one rank in each of `processes`, which are ranks of the MPI job. Each of these processes
/// must call this function with the same name, and blocks until all have called it. MPI does the collectives, over any
/// network that it supports, and chooses the order of sums. The communicator does not notice if the ranks begin
/// different collectives: they may then wait forever, so the caller must limit every wait for a collective. Throws
/// Error if the build has no MPI, if this process is not rank `process` of `world_size` in an MPI job, if `process` is
/// not in `processes`, or if another process does not call within 60 seconds.
std::shared_ptr<Communicator> make_mpi_communicator(const std::string& name, const std::vector<int>& processes,
                                                    int process, int world_size);

}  // namespace troupe
