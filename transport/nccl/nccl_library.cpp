#include "troupe/transport/nccl/nccl_library.hpp"

#include <cstdlib>

#include "troupe/ops/cuda/device/shared_library.hpp"

namespace troupe::nccl {

namespace {

NcclLibrary load() {
  // Unless the user has chosen: all connections are made when a group is, because a first collective that makes them
  // waits for the other processes in the call; and groups of one process that are used by several threads launch in one
  // order on every GPU.
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
  const cuda::SharedLibrary library("NCCL", {"libnccl.so.2"});
  NcclLibrary functions;
  TROUPE_CUDA_FUNCTION(library, functions.error_text, ncclGetErrorString);
  TROUPE_CUDA_FUNCTION(library, functions.last_error, ncclGetLastError);
  TROUPE_CUDA_FUNCTION(library, functions.unique_id, ncclGetUniqueId);
  TROUPE_CUDA_FUNCTION(library, functions.init_rank, ncclCommInitRankConfig);
  TROUPE_CUDA_FUNCTION(library, functions.async_error, ncclCommGetAsyncError);
  TROUPE_CUDA_FUNCTION(library, functions.finalize, ncclCommFinalize);
  TROUPE_CUDA_FUNCTION(library, functions.destroy, ncclCommDestroy);
  TROUPE_CUDA_FUNCTION(library, functions.abort, ncclCommAbort);
  TROUPE_CUDA_FUNCTION(library, functions.group_start, ncclGroupStart);
  TROUPE_CUDA_FUNCTION(library, functions.group_end, ncclGroupEnd);
  TROUPE_CUDA_FUNCTION(library, functions.all_reduce, ncclAllReduce);
  TROUPE_CUDA_FUNCTION(library, functions.broadcast, ncclBroadcast);
  TROUPE_CUDA_FUNCTION(library, functions.all_gather, ncclAllGather);
  TROUPE_CUDA_FUNCTION(library, functions.reduce_scatter, ncclReduceScatter);
  return functions;
}

}  // namespace

const NcclLibrary& nccl_library() {
  static const NcclLibrary kLibrary = load();
  return kLibrary;
}

std::string text_of(ncclResult_t result, ncclComm_t comm) {
  const auto* more = nccl_library().last_error(comm);
  std::string text = nccl_library().error_text(result);
  if (more != nullptr && *more != '\0') text += std::string(": ") + more;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace troupe::nccl
