#include "troupe/transport/nccl/nccl_library.hpp"

#include <cstdlib>

namespace troupe::nccl {

const NcclLibrary& nccl_library() {
  static const auto& library = []() -> const NcclLibrary& {
    // Sets environment variables of NCCL, unless the user has set them. NCCL_RUNTIME_CONNECT=0 makes all connections
    // when a group is made. By default the first collective makes them, so its launch waits for the other processes.
    // NCCL_LAUNCH_ORDER_IMPLICIT=1 launches the collectives of several groups, which several threads may use, in one
    // order on every GPU.
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
    return *new NcclLibrary;
  }();
  return library;
}

std::string text_of(ncclResult_t result, ncclComm_t comm) {
  const auto* more = nccl_library().last_error(comm);
  std::string text = nccl_library().error_text(result);
  if (more != nullptr && *more != '\0') text += std::string(": ") + more;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace troupe::nccl
