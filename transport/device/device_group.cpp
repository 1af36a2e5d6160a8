#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/transport/device/check_parts.hpp"
#include "troupe/transport/device/launched_work.hpp"
#include "troupe/transport/device/make_device_group.hpp"

namespace troupe {

namespace {

using device::GroupWatch;
using device::LaunchedWork;

/// A device of a DeviceGroup, the ranks on the device, and the stream on which the group launches the work of the
/// device. Must be used by one thread at a time.
class Member {
 public:
  explicit Member(Device device) : device_(device), stream_(backend_of(device).make_stream(device)) {}

  Device device() const { return device_; }
  Stream& stream() { return *stream_; }
  std::vector<std::size_t>& ranks() { return ranks_; }

  /// Launches copies to this device of the elements of `slice` in inputs on other devices, then a kernel that adds
  /// these elements of the inputs of all ranks, in rank order, into `output`. `output` may be the same slice of one of
  /// the inputs. Does nothing if the slice is empty.
  void sum(Communicator::Parts parts, const Slice& slice, const Tensor& output) {
    if (slice.count == 0) return;
    const auto inputs = inputs_here(parts, slice);
    if (inputs.size() == 1) return copy(inputs[0], output);
    auto& kernel = kernel_of({output.dtype(), output.elements(), inputs.size()});
    kernel.run({*stream_, scratch_ ? scratch_.address() : nullptr}, inputs, std::span(&output, 1));
  }

  void copy(const Tensor& from, const Tensor& to) {
    if (from.bytes() > 0 && from.address() != to.address()) stream_->copy(to.address(), from.address(), from.bytes());
  }

  void wait(const std::vector<Event>& events) {
    for (const auto& event : events) stream_->wait(event);
  }

 private:
  using Size = std::tuple<DType, std::int64_t, std::size_t>;  // dtype, elements, number of inputs
  /// The largest number of kernels in kernels_. kernel_of() drops all of them before it makes one more, so that calls
  /// of ever new sizes do not fill the memory.
  static constexpr std::size_t kMostKernels = 256;

  std::vector<Tensor> inputs_here(Communicator::Parts parts, const Slice& slice) {
    const auto dtype = parts[0].input.dtype();
    const auto place = (static_cast<std::size_t>(slice.count) * size_of(dtype) + 63) / 64 * 64;
    const auto staging_bytes = static_cast<std::int64_t>(place * (parts.size() - ranks_.size()));
    if (staging_bytes > 0 && (!staging_ || staging_.elements() < staging_bytes))
      staging_ = Tensor(Shape{staging_bytes}, DType::uint8, device_);
    std::vector<Tensor> inputs;
    std::size_t staged = 0;
    for (const auto& part : parts) {
      inputs.push_back(part_of(part.input, slice));
      if (part.input.device() == device_) continue;
      const auto here = staging_.view(Shape{slice.count}, dtype, place * staged++);
      copy(inputs.back(), here);
      inputs.back() = here;
    }
    return inputs;
  }

  /// Returns the kernel that adds inputs of `size`. If kernels_ does not have it, makes it, and replaces scratch_,
  /// which all kernels share, by a larger tensor if the kernel needs more scratch memory.
  Kernel& kernel_of(const Size& size) {
    if (kernels_.size() >= kMostKernels && !kernels_.contains(size)) kernels_.clear();
    auto& kernel = kernels_[size];
    if (kernel) return *kernel;
    const auto& [dtype, elements, inputs] = size;
    const TensorInfo info{Shape{elements}, dtype};
    kernel = make_kernel({&kAddN, {}, std::vector<TensorInfo>(inputs, info), {info}}, device_);
    const auto bytes = static_cast<std::int64_t>(kernel->scratch_bytes());
    if (bytes > 0 && (!scratch_ || scratch_.elements() < bytes)) scratch_ = Tensor(Shape{bytes}, DType::uint8, device_);
    return *kernel;
  }

  Device device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::size_t> ranks_;
  std::map<Size, std::unique_ptr<Kernel>> kernels_;
  Tensor scratch_, staging_;
};

/// A Communicator all of whose ranks are in this process, each on a device; several ranks may share a device. begin()
/// launches a whole collective on the streams of the devices. An all_reduce has two rounds: first every device sums one
/// slice of the tensors of all ranks into the tensor of its first rank; then every device copies the other devices'
/// slices into that tensor, and the whole tensor to its other ranks.
class DeviceGroup final : public Communicator {
 public:
  DeviceGroup(const std::vector<Device>& devices, const DeviceGroupOptions& options) : watch_(options.limit, {}) {
    if (devices.empty()) throw Error("communicator", "a group needs at least one rank, not 0");
    for (const auto& device : devices) {
      if (device.type != devices[0].type)
        throw Error("communicator", to_string(devices[0]) + " and " + to_string(device) + " cannot be one group");
      const auto member = std::ranges::find(members_, device, [](const auto& other) { return other->device(); });
      member_of_.push_back(static_cast<std::size_t>(member - members_.begin()));
      if (member == members_.end()) members_.push_back(std::make_unique<Member>(device));
      members_[member_of_.back()]->ranks().push_back(local_.size());
      local_.push_back({static_cast<int>(local_.size()), device});
    }
  }

  int size() const override { return static_cast<int>(local_.size()); }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    std::lock_guard lock(mutex_);
    return watch_.begin([&] {
      const auto signature = device::check_parts(kind, parts, local_, size(), root);
      for (const auto& member : members_)
        for (const auto& part : parts) member->stream().wait(part.ready);
      launch(signature, parts);
      auto work = std::make_shared<LaunchedWork>(
          to_string(signature) + " (collective " + std::to_string(number_++) + ")", parts, local_, all_done(), size());
      watch_.add(work);
      return work;
    });
  }

  void abort(FailurePtr failure) override { watch_.end(std::move(failure)); }
  void leave(FailurePtr failure) override { watch_.end(std::move(failure)); }
  FailurePtr failure() override { return watch_.failure(); }
  void on_failed(OnFailed callback) override { watch_.on_failed(std::move(callback)); }

 private:
  Member& member_of(std::size_t rank) { return *members_[member_of_[rank]]; }

  void launch(const CallSignature& call, Parts parts) {
    const auto ranks = static_cast<int>(parts.size());
    const auto count = call.elements / ranks;
    switch (call.kind) {
      case CollectiveKind::all_reduce:
        launch_sums(parts, call.elements);
        launch_copies(parts, call.elements);
        break;
      case CollectiveKind::broadcast:
        for (int rank = 0; rank < ranks; ++rank) member_of(rank).copy(parts[call.root].input, parts[rank].input);
        break;
      case CollectiveKind::all_gather:
        for (int rank = 0; rank < ranks; ++rank)
          for (int from = 0; from < ranks; ++from)
            member_of(rank).copy(parts[from].input, part_of(parts[rank].output, {call.elements * from, call.elements}));
        break;
      case CollectiveKind::reduce_scatter:
        for (int rank = 0; rank < ranks; ++rank)
          member_of(rank).sum(parts, {count * rank, count}, part_of(parts[rank].output, {0, count}));
        break;
      case CollectiveKind::barrier:
        break;
      case CollectiveKind::scatter:
        for (int rank = 0; rank < ranks; ++rank)
          member_of(rank).copy(part_of(parts[call.root].input, {count * rank, count}), parts[rank].output);
        break;
    }
  }

  void launch_sums(Parts parts, std::int64_t elements) {
    const auto count = static_cast<int>(members_.size());
    std::vector<Event> summed;
    for (int i = 0; i < count; ++i) {
      auto& member = *members_[i];
      const auto slice = slice_of(elements, count, i);
      member.sum(parts, slice, part_of(parts[member.ranks().front()].input, slice));
      if (count > 1) summed.push_back(member.stream().record());
    }
    for (const auto& member : members_) member->wait(summed);
  }

  void launch_copies(Parts parts, std::int64_t elements) {
    const auto count = static_cast<int>(members_.size());
    for (const auto& member : members_) {
      const auto& first = parts[member->ranks().front()].input;
      for (int i = 0; i < count; ++i) {
        const auto slice = slice_of(elements, count, i);
        member->copy(part_of(parts[members_[i]->ranks().front()].input, slice), part_of(first, slice));
      }
      for (const auto rank : member->ranks()) member->copy(first, parts[rank].input);
    }
  }

  /// Returns, by rank, an event on the device of each rank. Each event is done when all work launched so far on all
  /// devices is done, so that no device reads the tensors any more.
  std::vector<Event> all_done() {
    const auto record = [&] {
      std::vector<Event> events;
      for (const auto& member : members_) events.push_back(member->stream().record());
      return events;
    };
    auto events = record();
    if (members_.size() > 1) {
      for (const auto& member : members_) member->wait(events);
      events = record();
    }
    std::vector<Event> by_rank;
    for (const auto member : member_of_) by_rank.push_back(events[member]);
    return by_rank;
  }

  std::vector<DeviceRank> local_;
  std::mutex mutex_;  // guards the members below except watch_
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::size_t> member_of_;  // index in members_, by rank
  std::int64_t number_ = 0;
  GroupWatch watch_;
};

}  // namespace

std::shared_ptr<Communicator> make_device_group(const std::vector<Device>& devices, const DeviceGroupOptions& options) {
  return std::make_shared<DeviceGroup>(devices, options);
}

}  // namespace troupe
