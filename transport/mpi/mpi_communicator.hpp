#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

/// Whether this build has MPI.
bool has_mpi();

/// Makes a communicator with one rank in each of `processes`, which are ranks of the MPI job. Each of them calls this
/// with the same name, and blocks until all have. MPI does the collectives, over any network that it supports, and
/// chooses the order of sums. The communicator does not notice if a rank begins another collective than the others: the
/// ranks may then wait forever, so the caller must limit the wait. Throws Error if the build has no MPI, if this
/// process is not rank `process` of `world_size` in an MPI job, if it is not in `processes`, or if the others do not
/// call within 60 seconds.
std::shared_ptr<Communicator> make_mpi_communicator(const std::string& name, const std::vector<int>& processes,
                                                    int process, int world_size);

}  // namespace troupe
