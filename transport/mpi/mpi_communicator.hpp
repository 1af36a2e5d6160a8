#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

/// Whether this build has MPI.
bool has_mpi();

/// A communicator of one rank in each of these processes, which are the ranks of the MPI job, over MPI's own engine:
/// for clusters whose network MPI supports. Sums are in the order that MPI chooses. A rank that calls another
/// collective than the others is not reported: the run's control has to detect it. Throws Error if the build has no
/// MPI, or if this process is not rank `process` of `world_size` in an MPI job.
std::shared_ptr<Communicator> make_mpi_communicator(const std::string& name, const std::vector<int>& processes,
                                                    int process, int world_size);

}  // namespace troupe
