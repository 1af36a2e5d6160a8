#include "troupe/tests/emulated_cuda/communicator.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "cuda_runtime_api.h"
#include "troupe/tests/emulated_cuda/stream.hpp"

namespace emulated_cuda {

namespace {

thread_local std::string last_problem;

/// The groups by the id that ncclGetUniqueId returned.
struct Groups {
  std::mutex mutex;
  std::uint64_t last_token = 0;
  std::map<std::uint64_t, std::shared_ptr<RankGroup>> by_token;
};

Groups& groups() {
  static auto* const all = new Groups;
  return *all;
}

std::uint64_t token_of(const ncclUniqueId& id) {
  std::uint64_t token = 0;
  std::memcpy(&token, id.internal, sizeof token);
  return token;
}

/// Null if ncclGetUniqueId did not return the id, or the group has another size.
std::shared_ptr<RankGroup> group_of(const ncclUniqueId& id, int size) {
  Groups& all = groups();
  std::lock_guard lock(all.mutex);
  const std::uint64_t token = token_of(id);
  if (token == 0 || token > all.last_token) return nullptr;
  auto& group = all.by_token[token];
  if (!group) group = std::make_shared<RankGroup>(size);
  return group->size() == size ? group : nullptr;
}

ncclResult_t finish_init(ncclComm_t* comm) {
  const auto group = (*comm)->group;
  if (!(*comm)->is_blocking) return ncclInProgress;
  group->wait_until_complete();
  if (group->state() == ncclSuccess) return ncclSuccess;
  delete *comm;
  *comm = nullptr;
  return nccl_error(group->state(), group->problem());
}

ncclResult_t init_rank(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank, bool blocking) {
  if (device_count() == 0) return nccl_error(ncclUnhandledCudaError, "no CUDA-capable device is detected");
  if (!comm || ranks < 1 || rank < 0 || rank >= ranks) return nccl_error(ncclInvalidArgument, "no such rank");
  auto group = group_of(id, ranks);
  if (!group) return nccl_error(ncclInvalidArgument, "an unknown id, or another number of ranks than before");
  *comm = nullptr;
  if (const auto error = group->arrive(rank, current_device())) return nccl_error(error, group->problem());
  *comm = new ncclComm(std::move(group), rank, current_device(), blocking);
  return finish_at_group_end([comm] { return finish_init(comm); });
}

}  // namespace

ncclResult_t nccl_error(ncclResult_t result, std::string problem) {
  last_problem = std::move(problem);
  return result;
}

}  // namespace emulated_cuda

using namespace emulated_cuda;

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  static constexpr const char* kTexts[] = {"no error",
                                           "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                           "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                           "internal error - please report this issue to the NCCL developers",
                                           "invalid argument (run with NCCL_DEBUG=WARN for details)",
                                           "invalid usage (run with NCCL_DEBUG=WARN for details)",
                                           "remote process exited or there was a network error",
                                           "NCCL operation in progress"};
  return result >= 0 && result < ncclNumResults ? kTexts[result] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) {
  if (comm && !comm->group->problem().empty()) last_problem = comm->group->problem();
  return last_problem.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  Groups& all = groups();
  std::lock_guard lock(all.mutex);
  const std::uint64_t token = ++all.last_token;
  std::memcpy(id->internal, &token, sizeof token);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return init_rank(comm, ranks, id, rank, true);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return init_rank(comm, ranks, id, rank, !config || config->blocking != 0);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* device_list) {
  if (!comms || devices < 1) return nccl_error(ncclInvalidArgument, "no devices");
  int before = 0;
  if (cudaGetDevice(&before) != cudaSuccess) return nccl_error(ncclUnhandledCudaError, "no device");
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclResult_t result = ncclSuccess;
  ncclGroupStart();
  for (int i = 0; i < devices && result == ncclSuccess; ++i) {
    const bool is_set = cudaSetDevice(device_list ? device_list[i] : i) == cudaSuccess;
    result =
        is_set ? ncclCommInitRank(&comms[i], devices, id, i) : nccl_error(ncclUnhandledCudaError, "no such device");
  }
  const ncclResult_t ended = ncclGroupEnd();
  cudaSetDevice(before);
  return result != ncclSuccess ? result : ended;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (!comm || !error) return nccl_error(ncclInvalidArgument, "no communicator");
  *error = comm->group->state();
  int polls = comm->polls_left;
  while (*error == ncclSuccess && polls > 0 && !comm->polls_left.compare_exchange_weak(polls, polls - 1)) continue;
  if (*error == ncclSuccess && polls > 0) *error = ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (!comm) return nccl_error(ncclInvalidArgument, "no communicator");
  return begun(*comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  const auto completion = comm->order.recording().completion;
  if (completion && !is_process_ending()) completion->wait();
  comm->group->leave(comm->rank);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  comm->group->abort(comm->rank);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  *count = comm->group->size();
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  *device = comm->device.ordinal();
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
