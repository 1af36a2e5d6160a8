#include "troupe/transport/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/mpi/mpi_thread.hpp"
#include "troupe/transport/rank_sum.hpp"

namespace troupe {

namespace {

using mpi::expect_success;
using mpi::MpiThread;
using mpi::Operation;

/// How MPI sees elements that are summed: 16-bit numbers as integers, which an operation of ours adds.
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

/// On MPI's thread.
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

/// What the works of a communicator share.
struct MpiGroup {
  Abort abort;
  std::mutex mutex;
  std::vector<std::weak_ptr<Operation>> operations;

  void post(const std::shared_ptr<Operation>& operation) {
    {
      std::lock_guard lock(mutex);
      std::erase_if(operations, [](const auto& known) { return known.expired(); });
      operations.push_back(operation);
    }
    MpiThread::instance().post(operation);
  }

  void give_up(const FailurePtr& failure) {
    if (!abort.set(failure)) return;
    MpiThread::instance().abandon();
    std::lock_guard lock(mutex);
    for (const auto& known : operations)
      if (const auto operation = known.lock()) operation->listeners.notify();
  }
};

/// MPI reads and writes memory of its own, since it cannot be told to stop: a work that has failed must not touch its
/// tensors any more.
class MpiWork final : public HostWork {
 public:
  MpiWork(std::shared_ptr<MpiGroup> group, std::shared_ptr<Operation> operation, std::string what, Tensor tensor,
          std::size_t expected_bytes = kAnyBytes)
      : group_(std::move(group)),
        operation_(std::move(operation)),
        what_(std::move(what)),
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
    return done_ ? "nothing" : what_ + ": another rank has not come";
  }

  static constexpr auto kAnyBytes = std::numeric_limits<std::size_t>::max();

 private:
  void take() {
    if (!operation_->error.empty()) throw Error("mpi", operation_->error);
    if (expected_bytes_ != kAnyBytes && operation_->received_bytes != expected_bytes_)
      throw Error("communicator", what_ + " got " + std::to_string(operation_->received_bytes) + " bytes where " +
                                      std::to_string(expected_bytes_) + " were expected");
    if (operation_->to && tensor_.bytes() > 0)
      std::memcpy(tensor_.mutable_raw(), operation_->to.raw(), tensor_.bytes());
    tensor_ = {};
    operation_ = nullptr;
  }

  std::shared_ptr<MpiGroup> group_;
  std::shared_ptr<Operation> operation_;
  std::string what_;
  Tensor tensor_;
  std::size_t expected_bytes_;
  bool done_ = false;
};

/// Begins a collective on MPI's thread, from and to memory that stays until MPI has finished. Returns MPI's code.
using Call = std::function<int(const Tensor& from, const Tensor& to, MPI_Request* request)>;

Call reduce_all(const Tensor& tensor, MPI_Comm on) {
  return [type = type_for_sums(tensor.dtype()), count = count_of(tensor.elements()), on](
             const Tensor& from, const Tensor& to, MPI_Request* request) {
    return MPI_Iallreduce(memory_of(from), memory_of(to), count, type, sum_of(from.dtype()), on, request);
  };
}

Call copy_root(const Tensor& tensor, int root, MPI_Comm on) {
  return [bytes = bytes_of(tensor), root, on](const Tensor& from, const Tensor& to, MPI_Request* request) {
    return MPI_Ibcast(memory_of(to ? to : from), bytes, MPI_BYTE, root, on, request);
  };
}

Call copy_all(const Tensor& input, MPI_Comm on) {
  return [bytes = bytes_of(input), on](const Tensor& from, const Tensor& to, MPI_Request* request) {
    return MPI_Iallgather(memory_of(from), bytes, MPI_BYTE, memory_of(to), bytes, MPI_BYTE, on, request);
  };
}

Call reduce_parts(const Tensor& output, MPI_Comm on) {
  return [type = type_for_sums(output.dtype()), count = count_of(output.elements()), on](
             const Tensor& from, const Tensor& to, MPI_Request* request) {
    return MPI_Ireduce_scatter_block(memory_of(from), memory_of(to), count, type, sum_of(from.dtype()), on, request);
  };
}

Call copy_parts(const Tensor& output, int root, MPI_Comm on) {
  return [bytes = bytes_of(output), root, on](const Tensor& from, const Tensor& to, MPI_Request* request) {
    return MPI_Iscatter(memory_of(from), bytes, MPI_BYTE, memory_of(to), bytes, MPI_BYTE, root, on, request);
  };
}

Call call_of(const CallSignature& signature, const Part& part, MPI_Comm on) {
  switch (signature.kind) {
    case CollectiveKind::all_reduce:
      return reduce_all(part.input, on);
    case CollectiveKind::broadcast:
      return copy_root(part.input, signature.root, on);
    case CollectiveKind::all_gather:
      return copy_all(part.input, on);
    case CollectiveKind::reduce_scatter:
      return reduce_parts(part.output, on);
    case CollectiveKind::barrier:
      return [on](const Tensor&, const Tensor&, MPI_Request* request) { return MPI_Ibarrier(on, request); };
    case CollectiveKind::scatter:
      return copy_parts(part.output, signature.root, on);
  }
  return {};
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm communicator, int rank, int size)
      : communicator_(communicator), local_{DeviceRank{rank}}, size_(size) {}
  // The MPI communicator stays: freeing it is collective, and the others may have died.

  int size() const override { return size_; }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    const auto& part = only_part(parts);
    const auto signature = signature_of(kind, part.input, part.output, rank(), size_, root);
    const bool is_sender = kind == CollectiveKind::broadcast && root == rank();
    const auto& result = form_of(kind).output == OutputSize::in_place ? part.input : part.output;
    return post(signature, part.input, is_sender ? Tensor() : result, call_of(signature, part, communicator_));
  }

  std::shared_ptr<Work> send(const Tensor& tensor, int to, OnProgress) override {
    expect_rank(to, size_);
    group_->abort.check();
    auto operation = std::make_shared<Operation>();
    operation->from = tensor.clone();
    operation->begin = [bytes = bytes_of(tensor), to, on = communicator_, from = operation->from] {
      MPI_Request request = MPI_REQUEST_NULL;
      expect_success(MPI_Isend(memory_of(from), bytes, MPI_BYTE, to, 0, on, &request), "MPI_Isend");
      return request;
    };
    group_->post(operation);
    return std::make_shared<CompletedWork>();
  }

  std::shared_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    expect_rank(from, size_);
    group_->abort.check();
    auto operation = operation_to(tensor);
    operation->listeners.set(0, std::move(on_progress));
    operation->begin = [bytes = bytes_of(tensor), from, on = communicator_, to = operation->to] {
      MPI_Request request = MPI_REQUEST_NULL;
      expect_success(MPI_Irecv(memory_of(to), bytes, MPI_BYTE, from, 0, on, &request), "MPI_Irecv");
      return request;
    };
    group_->post(operation);
    return std::make_shared<MpiWork>(group_, operation, "recv from rank " + std::to_string(from), tensor,
                                     tensor.bytes());
  }

  void abort(FailurePtr failure) override { group_->give_up(failure); }

 private:
  static std::shared_ptr<Operation> operation_to(const Tensor& tensor) {
    auto operation = std::make_shared<Operation>();
    if (tensor) operation->to = Tensor(tensor.shape(), tensor.dtype());
    return operation;
  }

  std::shared_ptr<Work> post(const CallSignature& signature, const Tensor& from, const Tensor& to, Call call) {
    group_->abort.check();
    auto operation = operation_to(to);
    if (from) operation->from = from.clone();
    operation->begin = [call = std::move(call), raw = operation.get(), what = to_string(signature)] {
      MPI_Request request = MPI_REQUEST_NULL;
      expect_success(call(raw->from, raw->to, &request), what.c_str());
      return request;
    };
    group_->post(operation);
    return std::make_shared<MpiWork>(group_, operation, to_string(signature), to);
  }

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
  const auto own = std::ranges::find(processes, process);
  if (own == processes.end()) throw Error("mpi", "this process is not in '" + name + "'");
  return std::make_shared<MpiCommunicator>(thread.join(name, processes), static_cast<int>(own - processes.begin()),
                                           static_cast<int>(processes.size()));
}

}  // namespace troupe
