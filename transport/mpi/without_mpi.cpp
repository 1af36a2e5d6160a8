#include "troupe/ops/core/error.hpp"
#include "troupe/transport/mpi/mpi_communicator.hpp"

namespace troupe {

bool has_mpi() {
  return false;
}

std::shared_ptr<Communicator> make_mpi_communicator(const std::string&, const std::vector<int>&, int, int) {
  throw Error("mpi", "this build has no MPI: install its headers (libopenmpi-dev), and configure with TROUPE_MPI=ON");
}

}  // namespace troupe
