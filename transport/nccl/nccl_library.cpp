#include "troupe/transport/nccl/nccl_library.hpp"

#include <cstdlib>

namespace troupe::nccl {

const NcclLibrary& nccl_library() {
  static const auto& library = []() -> const NcclLibrary& {
    // Unless the user has chosen: all connections are made when a group is, because a first collective that makes them
    // waits for the other processes in the call; and groups of one process that are used by several threads launch in
    // one order on every GPU.
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
