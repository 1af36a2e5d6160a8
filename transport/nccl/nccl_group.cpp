#include "troupe/transport/nccl/nccl_group.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/cuda_stream.hpp"
#include "troupe/transport/device/buffers.hpp"
#include "troupe/transport/device/check_parts.hpp"
#include "troupe/transport/device/launched_work.hpp"
#include "troupe/transport/nccl/nccl_ranks.hpp"

namespace troupe {

namespace {

using device::Buffer;
using device::Buffers;
using device::GroupWatch;
using nccl::nccl_library;
using nccl::NcclRanks;

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::int32:
      return ncclInt32;
    case DType::int64:
      return ncclInt64;
    case DType::uint8:
      return ncclUint8;
    case DType::float16:
      return ncclFloat16;
    case DType::bfloat16:
      return ncclBfloat16;
    case DType::float32:
      return ncclFloat32;
  }
  throw Error("nccl", "a tensor has no element type");
}

/// Returns the options. Throws Error if there is no local rank, or if the local ranks do not ascend, are not below the
/// size, are not on GPUs, or share a GPU.
const NcclGroupOptions& checked(const NcclGroupOptions& options) {
  const auto& local = options.local;
  if (local.empty()) throw Error("nccl", "a process needs at least one rank of its group");
  for (std::size_t i = 0; i < local.size(); ++i) {
    expect_rank(local[i].rank, options.size);
    if (i > 0 && local[i - 1].rank >= local[i].rank) throw Error("nccl", "the ranks of a process must ascend");
    if (local[i].device.type != DeviceType::cuda)
      throw Error("nccl", device::names_of({local[i]}) + " is not on a GPU");
    for (std::size_t other = 0; other < i; ++other)
      if (local[other].device == local[i].device)
        throw Error("nccl", device::names_of({local[other], local[i]}) + " share a GPU, which NCCL does not allow");
  }
  return options;
}

std::size_t count_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.elements());
}

ncclResult_t launch_part(const CallSignature& call, const Part& part, ncclComm_t comm, cudaStream_t stream) {
  const auto& library = nccl_library();
  const auto type = type_of(call.dtype);
  auto* const input = part.input.address();
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return library.all_reduce(input, input, count_of(part.input), type, ncclSum, comm, stream);
    case CollectiveKind::broadcast:
      return library.broadcast(input, input, count_of(part.input), type, call.root, comm, stream);
    case CollectiveKind::all_gather:
      return library.all_gather(input, part.output.address(), count_of(part.input), type, comm, stream);
    case CollectiveKind::reduce_scatter:
      return library.reduce_scatter(input, part.output.address(), count_of(part.output), type, ncclSum, comm, stream);
    case CollectiveKind::barrier:
    case CollectiveKind::scatter:
      break;
  }
  return ncclInvalidArgument;
}

class NcclGroup final : public Communicator {
 public:
  explicit NcclGroup(const NcclGroupOptions& options)
      : size_(options.size),
        local_(options.local),
        lanes_(make_lanes(checked(options))),
        ranks_(options),
        watch_(options.limit, {[this] { return look(); }, [this](const FailurePtr&) { release(); }}) {}

  ~NcclGroup() override {
    // If a collective is not done within the limit, it waits for a rank that will not come. NCCL's communicators are
    // then aborted, because destroying them would wait for the collective.
    const auto is_over = [this](const Event& event) {
      return event.state() == nullptr || event.state()->wait_for(watch_.limit());
    };
    if (!std::ranges::all_of(last_, is_over)) release();
  }

  int size() const override { return size_; }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    std::lock_guard lock(mutex_);
    return watch_.begin([&] {
      const auto signature = device::check_parts(kind, parts, local_, size_, root);
      for (std::size_t i = 0; i < parts.size(); ++i) lanes_[i].stream->wait(parts[i].ready);
      if (signature.elements > 0) launch(signature, parts);
      last_.clear();
      for (const auto& lane : lanes_) last_.push_back(lane.stream->record());
      auto work = std::make_shared<device::LaunchedWork>(
          to_string(signature) + " (collective " + std::to_string(number_++) + ")", parts, local_, last_, size_);
      watch_.add(work);
      return work;
    });
  }

  void abort(FailurePtr failure) override {
    if (watch_.end(std::move(failure))) release();
  }
  /// If other processes have ranks, their streams would wait for this process's ranks, and NCCL cannot tell them. So
  /// the group fails then, and who has called on_failed() tells the other processes.
  void leave(FailurePtr failure) override {
    if (local_.size() < static_cast<std::size_t>(size_))
      watch_.fail(std::move(failure));
    else
      watch_.end(std::move(failure));
  }
  FailurePtr failure() override { return watch_.failure(); }
  void on_failed(OnFailed callback) override { watch_.on_failed(std::move(callback)); }

 private:
  /// The stream and the scratch memory of a local rank.
  struct Lane {
    std::unique_ptr<Stream> stream;
    Buffers scratch;
  };

  static std::vector<Lane> make_lanes(const NcclGroupOptions& options) {
    std::vector<Lane> lanes;
    for (const auto& [rank, device] : options.local)
      lanes.push_back({backend_of(device).make_stream(device), Buffers::on_device(device)});
    return lanes;
  }

  void launch(const CallSignature& call, Parts parts) {
    if (call.kind == CollectiveKind::scatter) return launch_scatter(call, parts);
    const auto launch_rank = [&](std::size_t i, ncclComm_t comm) {
      return launch_part(call, parts[i], comm, static_cast<cuda::CudaStream&>(*lanes_[i].stream).handle());
    };
    ranks_.launch(launch_rank, [this] { watch_.check(); });
  }

  /// NCCL has no scatter: the root's input is broadcast to scratch memory of the other ranks, and every rank copies its
  /// part to its output.
  void launch_scatter(const CallSignature& call, Parts parts) {
    std::vector<std::shared_ptr<Buffer>> buffers;
    std::vector<Part> whole;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(call.elements) * size_of(call.dtype);
      const bool is_root = local_[i].rank == call.root;
      buffers.push_back(is_root ? nullptr : lanes_[i].scratch.take(bytes));
      whole.push_back({is_root ? parts[i].input : buffers[i]->tensor(call.elements, call.dtype)});
    }
    launch({CollectiveKind::broadcast, call.dtype, call.elements, call.root}, whole);
    const auto count = call.elements / size_;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      auto& stream = *lanes_[i].stream;
      copy(stream, part_of(whole[i].input, {count * local_[i].rank, count}), parts[i].output);
      if (buffers[i]) buffers[i]->use_until(stream.record());
    }
  }

  FailurePtr look() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock ? ranks_.async_failure() : nullptr;
  }

  /// Aborts NCCL's communicators. The group has ended before this call, so a thread that holds the lock in begin()
  /// releases it soon: while it waits for NCCL, it checks whether the group has ended.
  void release() {
    std::lock_guard lock(mutex_);
    ranks_.abort();
  }

  const int size_;
  const std::vector<DeviceRank> local_;
  std::mutex mutex_;         // held during calls of NCCL; guards the members below except watch_
  std::vector<Lane> lanes_;  // by local rank
  NcclRanks ranks_;
  std::vector<Event> last_;
  std::int64_t number_ = 0;
  GroupWatch watch_;
};

}  // namespace

bool has_nccl() {
  try {
    nccl_library();
    return true;
  } catch (const Error&) {
    return false;
  }
}

NcclId make_nccl_id() {
  ncclUniqueId unique;
  const auto result = nccl_library().unique_id(&unique);
  if (result != ncclSuccess) throw Error("nccl", "no id can be made: " + nccl::text_of(result, nullptr));
  NcclId id;
  std::memcpy(id.data(), &unique, sizeof unique);
  return id;
}

std::shared_ptr<Communicator> make_nccl_group(const NcclGroupOptions& options) {
  return std::make_shared<NcclGroup>(options);
}

}  // namespace troupe
