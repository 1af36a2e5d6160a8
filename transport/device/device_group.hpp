#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "troupe/transport/device/check_parts.hpp"
#include "troupe/transport/device/device_sum.hpp"
#include "troupe/transport/device/group_watch.hpp"
#include "troupe/transport/device/make_device_group.hpp"

namespace troupe::device {

/// A device of a group, its ranks, and the stream for what is done there. Used by one thread at a time.
class Member {
 public:
  explicit Member(Device device);

  Device device() const { return device_; }
  Stream& stream() { return *stream_; }
  std::vector<std::size_t>& ranks() { return ranks_; }

  /// Launches the sum over all ranks' inputs of some of their elements. What lies on other devices is copied here
  /// first.
  void sum(Communicator::Parts parts, const Slice& slice, const Tensor& output);
  void copy(const Tensor& from, const Tensor& to);
  void wait(const std::vector<Event>& events);

 private:
  Device device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::size_t> ranks_;
  DeviceSum sum_;
  Tensor staging_;
};

/// See make_device_group. What is launched goes round twice: every device sums a slice of all tensors, in the tensor of
/// its first rank; then it copies the other devices' slices, and all to its other ranks.
class DeviceGroup final : public Communicator {
 public:
  DeviceGroup(const std::vector<Device>& devices, const DeviceGroupOptions& options);

  int size() const override { return static_cast<int>(local_.size()); }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override;

  void abort(FailurePtr failure) override { watch_.end(std::move(failure)); }
  void leave(FailurePtr failure) override { watch_.end(std::move(failure)); }
  FailurePtr failure() override { return watch_.failure(); }
  void on_failed(OnFailed callback) override { watch_.on_failed(std::move(callback)); }

 private:
  Member& member_of(std::size_t rank) { return *members_[member_of_[rank]]; }
  void launch(const CallSignature& call, Parts parts);
  void launch_sums(Parts parts, std::int64_t elements);
  void launch_copies(Parts parts, std::int64_t elements);
  /// After all work of all devices: nobody reads the tensors any more.
  std::vector<Event> all_done();

  std::vector<DeviceRank> local_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::size_t> member_of_;  // by rank
  std::int64_t number_ = 0;
  GroupWatch watch_;
};

}  // namespace troupe::device
