#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/transport/device/buffers.hpp"
#include "troupe/transport/device/check_parts.hpp"
#include "troupe/transport/device/group_watch.hpp"
#include "troupe/transport/device/process_layout.hpp"
#include "troupe/transport/hierarchy/stage_queue.hpp"

namespace troupe::device {

/// A collective of several stages: what it works on, and what comes of it. The stages write it one after the other.
struct StagedParts {
  /// As given; dropped once all is launched.
  std::vector<DevicePart> parts;
  /// Where the devices sum, or what they pass on: the parts, or scratch memory.
  std::vector<DevicePart> in_place;
  std::shared_ptr<Buffer> sent = {}, received = {};
  std::vector<std::shared_ptr<Buffer>> scratch = {};  // by local rank
  std::vector<Event> done = {};                       // by local rank
  std::atomic<bool> is_launched = false;
};

/// See make_hierarchical_device_group. Every collective has three stages: on the devices and down to the host; across
/// processes; up again and to all devices.
class HierarchicalGroup final : public DeviceCommunicator, public std::enable_shared_from_this<HierarchicalGroup> {
 public:
  explicit HierarchicalGroup(DeviceHierarchy parts);
  ~HierarchicalGroup() override;

  int size() const override { return layout_.ranks(); }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<DeviceWork> all_reduce(Parts parts) override;
  std::shared_ptr<DeviceWork> broadcast(Parts parts, int root) override;
  std::shared_ptr<DeviceWork> all_gather(Parts parts) override;
  std::shared_ptr<DeviceWork> reduce_scatter(Parts parts) override;

  void abort(FailurePtr failure) override;
  /// Other processes cannot tell what has begun here.
  void leave(FailurePtr failure) override { abort(std::move(failure)); }
  FailurePtr failure() override { return watch_.failure(); }
  void on_failed(OnFailed callback) override { watch_.on_failed(std::move(callback)); }

  /// For its works: advances and removes what has begun.
  bool advance(const hierarchy::StagedCollective& collective);
  void give_up(hierarchy::StagedCollective& collective);
  std::string waits_for(const hierarchy::StagedCollective& collective) const { return queue_.waits_for(collective); }

 private:
  /// The streams for copies of a local rank: what goes up must not wait for what goes down after it.
  struct Lane {
    std::unique_ptr<Stream> down, up;
    Buffers scratch;
  };
  using Staged = std::shared_ptr<StagedParts>;
  using MakeStages = std::function<hierarchy::Stages(const CallSignature&, const Staged&, const ProgressListener&)>;

  std::shared_ptr<DeviceWork> begin(CollectiveKind kind, Parts parts, int root, const MakeStages& make_stages);
  template <class Function>
  auto or_fail(Function function);
  void release(const FailurePtr& failure);

  // What stages do; in hierarchical_stages.cpp.
  hierarchy::Stages sum_stages(const CallSignature& call, const Staged& staged, const ProgressListener& progress);
  std::unique_ptr<Work> sum_and_fetch(const Staged& staged, const ProgressListener& progress);
  std::unique_ptr<Work> pass_on_and_fetch(const Staged& staged, int root, const ProgressListener& progress);
  std::unique_ptr<Work> fetch_all(const Staged& staged, const ProgressListener& progress);
  void put_sum(const Staged& staged);
  void put_all(const Staged& staged);
  void put_slices(const Staged& staged);
  void copy_to_scratch(const Staged& staged);
  std::unique_ptr<Work> fetch(const Staged& staged, const ProgressListener& progress);
  std::unique_ptr<Work> fetched(const Staged& staged, const ProgressListener& progress);
  void pass_on(const Staged& staged, Event first_is_ready);
  static std::unique_ptr<Work> launched(const Staged& staged);

  DeviceHierarchy parts_;
  ProcessLayout layout_;
  int outer_ = 0;  // the number of this process
  std::vector<DeviceRank> local_;
  std::mutex mutex_;  // guards the order in which collectives begin, and what their stages use
  std::int64_t number_ = 0;
  hierarchy::StageQueue queue_;
  std::vector<Lane> lanes_;  // by local rank
  Buffers buffers_;          // on the host
  GroupWatch watch_;
};

}  // namespace troupe::device
