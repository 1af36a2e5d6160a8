#pragma once

#include <nccl.h>

#include <string>

#include "troupe/ops/cuda/device/shared_library.hpp"

namespace troupe::nccl {

/// The functions of NCCL, loaded from its shared library.
struct NcclLibrary {
  cuda::SharedLibrary library{"NCCL", {"libnccl.so.2"}};
  TROUPE_CUDA_FUNCTION(error_text, ncclGetErrorString);
  TROUPE_CUDA_FUNCTION(last_error, ncclGetLastError);
  TROUPE_CUDA_FUNCTION(unique_id, ncclGetUniqueId);
  TROUPE_CUDA_FUNCTION(init_rank, ncclCommInitRankConfig);
  TROUPE_CUDA_FUNCTION(async_error, ncclCommGetAsyncError);
  TROUPE_CUDA_FUNCTION(finalize, ncclCommFinalize);
  TROUPE_CUDA_FUNCTION(destroy, ncclCommDestroy);
  TROUPE_CUDA_FUNCTION(abort, ncclCommAbort);
  TROUPE_CUDA_FUNCTION(group_start, ncclGroupStart);
  TROUPE_CUDA_FUNCTION(group_end, ncclGroupEnd);
  TROUPE_CUDA_FUNCTION(all_reduce, ncclAllReduce);
  TROUPE_CUDA_FUNCTION(broadcast, ncclBroadcast);
  TROUPE_CUDA_FUNCTION(all_gather, ncclAllGather);
  TROUPE_CUDA_FUNCTION(reduce_scatter, ncclReduceScatter);
};

/// Returns the functions of NCCL. The first call loads the library. Throws Error with the reason if the library cannot
/// be loaded. Thread-safe.
const NcclLibrary& nccl_library();

/// Returns NCCL's text for a result, with the details of NCCL's last error if there are any. `comm` may be null.
std::string text_of(ncclResult_t result, ncclComm_t comm);

}  // namespace troupe::nccl
