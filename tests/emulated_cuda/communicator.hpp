#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "nccl.h"
#include "troupe/tests/emulated_cuda/event.hpp"
#include "troupe/tests/emulated_cuda/rank_group.hpp"

struct ncclComm {
  std::shared_ptr<emulated_cuda::RankGroup> group;
  int rank;
  emulated_cuda::Device& device;
  bool is_blocking;
  /// Recorded after the work that was queued last. Work in other streams waits for it.
  CUevent_st order{device, false};
  /// The number of queries that are still answered by ncclInProgress. 0 for a communicator that blocks.
  std::atomic<int> polls_left{0};

  ncclComm(std::shared_ptr<emulated_cuda::RankGroup> ranks, int own_rank, emulated_cuda::Device& own_device,
           bool blocking)
      : group(std::move(ranks)), rank(own_rank), device(own_device), is_blocking(blocking) {}
};

namespace emulated_cuda {

using RankOperation = std::variant<Collective, Transfer>;

/// Makes the problem the text that ncclGetLastError returns in this thread. Returns `result`.
ncclResult_t nccl_error(ncclResult_t result, std::string problem);

/// Queues the operation at the end of the group of calls, or at once outside of a group.
ncclResult_t add_to_group(ncclComm_t comm, cudaStream_t stream, RankOperation operation);

/// Calls `finish` at the end of the group of calls, or at once outside of a group.
ncclResult_t finish_at_group_end(std::function<ncclResult_t()> finish);

/// The result of a call that has begun an operation: a communicator that does not block is often not ready yet.
ncclResult_t begun(ncclComm& comm);

}  // namespace emulated_cuda
