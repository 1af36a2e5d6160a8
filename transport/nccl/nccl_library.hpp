#pragma once

#include <nccl.h>

#include <string>

namespace troupe::nccl {

/// The functions of NCCL. The library is loaded when it is first needed.
struct NcclLibrary {
  decltype(&ncclGetErrorString) error_text = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommFinalize) finalize = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
};

/// The library. Throws Error that says why if it cannot be loaded. Thread-safe.
const NcclLibrary& nccl_library();

/// What NCCL says of a failure; `comm` may be null.
std::string text_of(ncclResult_t result, ncclComm_t comm);

}  // namespace troupe::nccl
