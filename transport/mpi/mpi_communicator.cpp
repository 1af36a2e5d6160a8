#include "troupe/transport/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/mpi/mpi_thread.hpp"
#include "troupe/transport/rank_sum.hpp"

namespace troupe {

namespace {

using mpi::expect_success;
using mpi::MpiThread;
using mpi::Operation;

/// Returns MPI's datatype for the elements of a sum. 16-bit floats are integers for MPI; sum_of() has the operations
/// that add them. Throws Error for a dtype that cannot be summed.
MPI_Datatype type_for_sums(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
      return MPI_UINT16_T;
    case DType::float32:
      return MPI_FLOAT;
    case DType::int32:
      return MPI_INT32_T;
    case DType::int64:
      return MPI_INT64_T;
    default:
      throw Error("communicator", "there is no sum of " + std::string(name_of(dtype)));
  }
}

template <DType dtype>
void add_halves(void* from, void* sum, int* count, MPI_Datatype*) {
  copy_or_add(dtype, *count, static_cast<const std::byte*>(from), static_cast<std::byte*>(sum), true);
}

MPI_Op operation_of(MPI_User_function* add) {
  MPI_Op operation = MPI_OP_NULL;
  expect_success(MPI_Op_create(add, 1, &operation), "MPI_Op_create");
  return operation;
}

/// Returns MPI's operation that adds elements of a dtype. Must be called on the thread of MpiThread.
MPI_Op sum_of(DType dtype) {
  static const MPI_Op float16 = operation_of(&add_halves<DType::float16>);
  static const MPI_Op bfloat16 = operation_of(&add_halves<DType::bfloat16>);
  if (dtype == DType::float16) return float16;
  return dtype == DType::bfloat16 ? bfloat16 : MPI_SUM;
}

int count_of(std::int64_t count) {
  if (count > std::numeric_limits<int>::max())
    throw Error("mpi", std::to_string(count) + " elements are more than MPI takes at once");
  return static_cast<int>(count);
}

int bytes_of(const Tensor& tensor) {
  return count_of(static_cast<std::int64_t>(tensor.bytes()));
}

void* memory_of(const Tensor& tensor) {
  return tensor && tensor.bytes() > 0 ? tensor.mutable_raw() : nullptr;
}

/// A function that begins an MPI operation, on the thread of MpiThread, and returns MPI's error code. `from` and `to`
/// stay allocated until MPI has finished the operation.
using Call = std::function<int(const Tensor& from, const Tensor& to, MPI_Request* request)>;

/// The state that an MpiCommunicator and its works share: whether the communicator has failed, and the operations whose
/// listeners are called then.
struct MpiGroup {
  Abort abort;
  std::mutex mutex;
  std::vector<std::weak_ptr<Operation>> operations;

  /// Queues an operation that `call` begins for MpiThread. `name` begins the text of an error that MPI reports when the
  /// operation begins.
  std::shared_ptr<Operation> post(const Tensor& from, const Tensor& to, std::string name, Call call) {
    auto operation = std::make_shared<Operation>();
    operation->from = from;
    operation->to = to;
    operation->begin = [call = std::move(call), raw = operation.get(), name = std::move(name)] {
      MPI_Request request = MPI_REQUEST_NULL;
      expect_success(call(raw->from, raw->to, &request), name.c_str());
      return request;
    };
    {
      std::lock_guard lock(mutex);
      std::erase_if(operations, [](const auto& other) { return other.expired(); });
      operations.push_back(operation);
    }
    MpiThread::instance().post(operation);
    return operation;
  }

  void give_up(const FailurePtr& failure) {
    if (!abort.set(failure)) return;
    MpiThread::instance().abandon();
    std::lock_guard lock(mutex);
    for (const auto& posted : operations)
      if (const auto operation = posted.lock()) operation->listeners.notify();
  }
};

/// The work of a collective or a receive over MPI. A failed work must not touch the caller's tensors any more, but MPI
/// cannot be stopped, so MPI reads a copy of the input and writes to memory of the operation, which advance() copies to
/// the caller's tensor once MPI has finished.
class MpiWork final : public HostWork {
 public:
  MpiWork(std::shared_ptr<MpiGroup> group, std::shared_ptr<Operation> operation, std::string name, Tensor tensor,
          std::optional<std::size_t> expected_bytes = {})
      : group_(std::move(group)),
        operation_(std::move(operation)),
        name_(std::move(name)),
        tensor_(std::move(tensor)),
        expected_bytes_(expected_bytes) {}

  bool advance(std::size_t /*local*/) override {
    if (done_) return true;
    group_->abort.check();
    if (!operation_->done) return false;
    try {
      take();
    } catch (...) {
      group_->give_up(failure_now());
      throw;
    }
    return done_ = true;
  }

  void listen(std::size_t /*local*/, ProgressListener listener) override {
    if (operation_) operation_->listeners.set(0, std::move(listener));
  }

  std::string waits_for(std::size_t /*local*/) const override {
    return done_ ? "nothing" : name_ + ": another rank has not come";
  }

 private:
  void take() {
    if (!operation_->error.empty()) throw Error("mpi", operation_->error);
    if (expected_bytes_ && operation_->received_bytes != *expected_bytes_)
      throw Error("communicator", name_ + " got " + std::to_string(operation_->received_bytes) + " bytes where " +
                                      std::to_string(*expected_bytes_) + " were expected");
    if (operation_->to && tensor_.bytes() > 0)
      std::memcpy(tensor_.mutable_raw(), operation_->to.raw(), tensor_.bytes());
    tensor_ = {};
    operation_ = nullptr;
  }

  std::shared_ptr<MpiGroup> group_;
  std::shared_ptr<Operation> operation_;
  std::string name_;
  Tensor tensor_;
  std::optional<std::size_t> expected_bytes_;
  bool done_ = false;
};

Call call_of(const CallSignature& signature, const Part& part, MPI_Comm on) {
  const auto kind = signature.kind;
  if (kind == CollectiveKind::barrier)
    return [on](const Tensor&, const Tensor&, MPI_Request* request) { return MPI_Ibarrier(on, request); };
  const bool sums = form_of(kind).sums;
  // MPI's count is the size of one rank's part, not of all parts together: in elements for a sum, in bytes for other
  // kinds.
  const auto& counted = form_of(kind).output == OutputSize::scattered ? part.output : part.input;
  const auto type = sums ? type_for_sums(counted.dtype()) : MPI_BYTE;
  const auto count = sums ? count_of(counted.elements()) : bytes_of(counted);
  return [=, root = signature.root](const Tensor& from, const Tensor& to, MPI_Request* request) {
    switch (kind) {
      case CollectiveKind::all_reduce:
        return MPI_Iallreduce(memory_of(from), memory_of(to), count, type, sum_of(from.dtype()), on, request);
      case CollectiveKind::broadcast:
        return MPI_Ibcast(memory_of(to ? to : from), count, type, root, on, request);
      case CollectiveKind::all_gather:
        return MPI_Iallgather(memory_of(from), count, type, memory_of(to), count, type, on, request);
      case CollectiveKind::reduce_scatter:
        return MPI_Ireduce_scatter_block(memory_of(from), memory_of(to), count, type, sum_of(from.dtype()), on,
                                         request);
      case CollectiveKind::scatter:
        return MPI_Iscatter(memory_of(from), count, type, memory_of(to), count, type, root, on, request);
      case CollectiveKind::barrier:
        break;
    }
    return MPI_ERR_ARG;
  };
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm communicator, int rank, int size)
      : communicator_(communicator), local_{DeviceRank{rank}}, size_(size) {}
  // No destructor frees the MPI communicator: freeing is a collective call, and processes of other ranks may be gone.

  int size() const override { return size_; }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    const auto& part = only_part(parts);
    const auto signature = signature_of(kind, part.input, part.output, rank(), size_, root);
    const bool is_sender = kind == CollectiveKind::broadcast && root == rank();
    const auto result = is_sender ? Tensor() : form_of(kind).output == OutputSize::in_place ? part.input : part.output;
    auto call = call_of(signature, part, communicator_);
    group_->abort.check();
    const auto from = part.input ? part.input.clone() : Tensor();
    return std::make_shared<MpiWork>(group_,
                                     group_->post(from, memory_for(result), to_string(signature), std::move(call)),
                                     to_string(signature), result);
  }

  std::shared_ptr<Work> send(const Tensor& tensor, int to, OnProgress) override {
    expect_rank(to, size_);
    group_->abort.check();
    group_->post(
        tensor.clone(), {}, "MPI_Isend",
        [bytes = bytes_of(tensor), to, on = communicator_](const Tensor& from, const Tensor&, MPI_Request* request) {
          return MPI_Isend(memory_of(from), bytes, MPI_BYTE, to, 0, on, request);
        });
    return std::make_shared<CompletedWork>();
  }

  std::shared_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    expect_rank(from, size_);
    group_->abort.check();
    const auto operation = group_->post(
        {}, memory_for(tensor), "MPI_Irecv",
        [bytes = bytes_of(tensor), from, on = communicator_](const Tensor&, const Tensor& to, MPI_Request* request) {
          return MPI_Irecv(memory_of(to), bytes, MPI_BYTE, from, 0, on, request);
        });
    auto work =
        std::make_shared<MpiWork>(group_, operation, "recv from rank " + std::to_string(from), tensor, tensor.bytes());
    work->listen(0, std::move(on_progress));
    return work;
  }

  void abort(FailurePtr failure) override { group_->give_up(failure); }

 private:
  static Tensor memory_for(const Tensor& tensor) { return tensor ? Tensor(tensor.shape(), tensor.dtype()) : Tensor(); }

  const MPI_Comm communicator_;
  const std::vector<DeviceRank> local_;
  const int size_;
  std::shared_ptr<MpiGroup> group_ = std::make_shared<MpiGroup>();
};

}  // namespace

bool has_mpi() {
  return true;
}

std::shared_ptr<Communicator> make_mpi_communicator(const std::string& name, const std::vector<int>& processes,
                                                    int process, int world_size) {
  auto& thread = MpiThread::instance();
  if (thread.rank() != process || thread.size() != world_size)
    throw Error("mpi", "this process is rank " + std::to_string(process) + " of " + std::to_string(world_size) +
                           ", but in the MPI job rank " + std::to_string(thread.rank()) + " of " +
                           std::to_string(thread.size()) + ": start it with mpirun or the like");
  const auto entry = std::ranges::find(processes, process);
  if (entry == processes.end()) throw Error("mpi", "this process is not in '" + name + "'");
  return std::make_shared<MpiCommunicator>(thread.join(name, processes), static_cast<int>(entry - processes.begin()),
                                           static_cast<int>(processes.size()));
}

}  // namespace troupe
