// NCCL's groups of calls, and the calls that queue work.
#include <cstdio>
#include <utility>

#include "troupe/tests/emulated_cuda/communicator.hpp"
#include "troupe/tests/emulated_cuda/memory.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"
#include "troupe/tests/emulated_cuda/variation.hpp"

namespace emulated_cuda {

namespace {

/// The operations of one rank in one stream between the begin and the end of a group.
struct Batch {
  ncclComm_t comm;
  cudaStream_t stream;
  std::vector<RankOperation> operations;
};

/// The calling thread's open group.
struct Calls {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<std::function<ncclResult_t()>> finishers;
  std::vector<Batch> batches;
};

thread_local Calls calls;

/// Whether the rank's communicator was destroyed before the work runs. Captured work can outlive its communicator,
/// which is a fault.
bool is_refused(RankGroup& group, int rank, Device& device) {
  if (!group.has_left(rank)) return false;
  std::fprintf(stderr, "emulated NCCL: work of rank %d runs after its communicator was destroyed\n", rank);
  device.set_fault(cudaErrorIllegalAddress);
  return true;
}

/// Runs the operations of a batch. Its sends and receives run concurrently.
void run(RankGroup& group, int rank, const std::vector<RankOperation>& operations) {
  std::vector<std::shared_ptr<Transfer>> transfers;
  for (const RankOperation& operation : operations) {
    if (const auto* transfer = std::get_if<Transfer>(&operation)) {
      transfers.push_back(std::make_shared<Transfer>(*transfer));
      group.post(rank, transfers.back());
    }
  }
  for (const RankOperation& operation : operations) {
    if (const auto* collective = std::get_if<Collective>(&operation)) group.meet(rank, *collective);
  }
  for (const auto& transfer : transfers) group.wait_for(rank, *transfer);
}

/// Queues a communicator's work as one sequence, also over several streams. Captured work is a sequence of its own.
cudaError_t submit(ncclComm& comm, Stream& stream, std::vector<RankOperation> operations) {
  if (comm.order.recording().capture == stream.capture()) {
    if (const cudaError_t error = wait_for(comm.order, stream)) return error;
  }
  Work work;
  work.meets_others = true;
  work.run = [group = comm.group, rank = comm.rank, &device = comm.device, operations = std::move(operations)] {
    if (!is_refused(*group, rank, device)) run(*group, rank, operations);
  };
  if (const cudaError_t error = stream.submit(std::move(work))) return error;
  return record(comm.order, stream);
}

ncclResult_t submit(Batch& batch) {
  const auto stream = stream_of(batch.stream);
  if (&stream->device() != &batch.comm->device) return nccl_error(ncclInvalidArgument, "a stream of another device");
  const cudaError_t error = submit(*batch.comm, *stream, std::move(batch.operations));
  if (error != cudaSuccess) return nccl_error(ncclUnhandledCudaError, cudaGetErrorString(error));
  return begun(*batch.comm);
}

bool is_device_memory(const void* buffer, std::size_t bytes) {
  const auto allocation = find_allocation(buffer);
  return allocation && allocation->contains(buffer, bytes);
}

ncclResult_t check_comm(ncclComm_t comm) {
  if (!comm) return nccl_error(ncclInvalidArgument, "no communicator");
  ncclResult_t state = ncclSuccess;
  ncclCommGetAsyncError(comm, &state);
  if (state == ncclSuccess) return ncclSuccess;
  return nccl_error(state == ncclInProgress ? ncclInvalidArgument : state,
                    "Attempt to use communicator before the previous operation returned ncclSuccess");
}

ncclResult_t remember(ncclResult_t result) {
  if (result != ncclSuccess && result != ncclInProgress && calls.depth > 0) calls.error = result;
  return result;
}

ncclResult_t end_group() {
  Calls ended = std::exchange(calls, {});
  if (ended.error != ncclSuccess) return ended.error;
  ncclResult_t result = ncclSuccess;
  const auto take = [&](ncclResult_t one) {
    if (result == ncclSuccess || (result == ncclInProgress && one != ncclSuccess)) result = one;
  };
  for (const auto& finish : ended.finishers) take(finish());
  for (Batch& batch : ended.batches) take(submit(batch));
  return result;
}

/// `sent` and `received` are numbers of elements.
ncclResult_t add_collective(ncclComm_t comm, cudaStream_t stream, const Collective& part, std::size_t sent,
                            std::size_t received) {
  if (const auto error = check_comm(comm)) return remember(error);
  const std::size_t size = bytes_of(part.type);
  const bool is_valid =
      size > 0 && part.op >= ncclSum && part.op < ncclNumOps && part.root >= 0 && part.root < comm->group->size();
  if (!is_valid) return remember(nccl_error(ncclInvalidArgument, "an invalid type, operation or root"));
  if (part.count == 0) return ncclSuccess;
  const bool sends = part.kind != CollectiveKind::kBroadcast || part.root == comm->rank;
  const bool receives = part.kind != CollectiveKind::kReduce || part.root == comm->rank;
  if ((sends && !is_device_memory(part.send, sent * size)) ||
      (receives && !is_device_memory(part.receive, received * size))) {
    return remember(nccl_error(ncclInvalidArgument, "a buffer is no device memory, or is too small"));
  }
  return remember(add_to_group(comm, stream, part));
}

ncclResult_t add_transfer(ncclComm_t comm, cudaStream_t stream, const Transfer& transfer) {
  if (const auto error = check_comm(comm)) return remember(error);
  const bool is_valid = transfer.peer >= 0 && transfer.peer < comm->group->size() && bytes_of(transfer.type) > 0;
  if (!is_valid) return remember(nccl_error(ncclInvalidArgument, "an invalid peer or type"));
  if (transfer.count == 0) return ncclSuccess;
  if (!is_device_memory(transfer.buffer, transfer.count * bytes_of(transfer.type))) {
    return remember(nccl_error(ncclInvalidArgument, "a buffer is no device memory, or is too small"));
  }
  return remember(add_to_group(comm, stream, transfer));
}

}  // namespace

ncclResult_t begun(ncclComm& comm) {
  if (comm.is_blocking || comm.group->state() != ncclSuccess) return ncclSuccess;
  const int polls = static_cast<int>(next_variation() % 3);
  comm.polls_left = polls;
  return polls > 0 ? ncclInProgress : ncclSuccess;
}

ncclResult_t add_to_group(ncclComm_t comm, cudaStream_t stream, RankOperation operation) {
  if (calls.depth == 0) {
    Batch batch{comm, stream, {std::move(operation)}};
    return submit(batch);
  }
  for (Batch& batch : calls.batches) {
    if (batch.comm != comm || batch.stream != stream) continue;
    batch.operations.push_back(std::move(operation));
    return ncclSuccess;
  }
  calls.batches.push_back({comm, stream, {std::move(operation)}});
  return ncclSuccess;
}

ncclResult_t finish_at_group_end(std::function<ncclResult_t()> finish) {
  if (calls.depth == 0) return finish();
  calls.finishers.push_back(std::move(finish));
  return ncclSuccess;
}

}  // namespace emulated_cuda

using namespace emulated_cuda;

ncclResult_t ncclGroupStart() {
  ++calls.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (calls.depth == 0) return nccl_error(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  return calls.depth == 1 ? end_group() : (--calls.depth, ncclSuccess);
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return add_collective(comm, stream, {CollectiveKind::kAllReduce, send, receive, count, type, op}, count, count);
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return add_collective(comm, stream, {CollectiveKind::kReduce, send, receive, count, type, op, root}, count, count);
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const Collective part{CollectiveKind::kBroadcast, send, receive, count, type, ncclSum, root};
  return add_collective(comm, stream, part, count, count);
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t receive_count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const std::size_t ranks = comm ? static_cast<std::size_t>(comm->group->size()) : 0;
  const Collective part{CollectiveKind::kReduceScatter, send, receive, receive_count, type, op};
  return add_collective(comm, stream, part, receive_count * ranks, receive_count);
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t send_count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  const std::size_t ranks = comm ? static_cast<std::size_t>(comm->group->size()) : 0;
  const Collective part{CollectiveKind::kAllGather, send, receive, send_count, type};
  return add_collective(comm, stream, part, send_count, send_count * ranks);
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_transfer(comm, stream, {peer, const_cast<void*>(send), count, type, true});
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_transfer(comm, stream, {peer, receive, count, type, false});
}
