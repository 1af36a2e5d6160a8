#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/transport/device/buffers.hpp"
#include "troupe/transport/device/check_parts.hpp"
#include "troupe/transport/device/group_watch.hpp"
#include "troupe/transport/hierarchy/hierarchical_device_group.hpp"
#include "troupe/transport/hierarchy/layout.hpp"
#include "troupe/transport/hierarchy/stage_queue.hpp"

namespace troupe::device {

/// The tensors and events of a collective of several stages. The stages write it one after the other. The group's watch
/// sees the collective in it, and keeps neither the work nor the group.
struct StagedParts final : Watched {
  StagedParts(std::shared_ptr<hierarchy::StageQueue> stage_queue, std::string what, Communicator::Parts given)
      : Watched(std::move(what), given),
        queue(std::move(stage_queue)),
        parts(given.begin(), given.end()),
        in_place(parts),
        done(ready()) {}

  bool is_done() const override { return is_launched; }
  std::string description() const override;

  const std::shared_ptr<hierarchy::StageQueue> queue;
  std::weak_ptr<hierarchy::StagedCollective> collective;  // set once it has begun
  /// The parts as given; dropped once all is launched.
  std::vector<Part> parts;
  /// The tensors that the devices sum or pass on: those of the parts, or scratch memory.
  std::vector<Part> in_place;
  std::shared_ptr<Buffer> sent, received;
  std::vector<std::shared_ptr<Buffer>> scratch;  // by local rank
  std::vector<Event> done;                       // by local rank
  std::atomic<bool> is_launched = false;
};

/// See make_hierarchical_device_group. Every collective has three stages: on the devices and down to the host; across
/// processes; up again and to all devices.
class HierarchicalGroup final : public Communicator, public std::enable_shared_from_this<HierarchicalGroup> {
 public:
  explicit HierarchicalGroup(DeviceHierarchy parts);
  ~HierarchicalGroup() override;

  int size() const override { return layout_.ranks(); }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override;

  void abort(FailurePtr failure) override;
  FailurePtr failure() override { return watch_.failure(); }
  void on_failed(OnFailed callback) override { watch_.on_failed(std::move(callback)); }

 private:
  /// The streams for copies of a local rank: what goes up must not wait for what goes down after it.
  struct Lane {
    std::unique_ptr<Stream> down, up;
    Buffers scratch;
  };
  using Staged = std::shared_ptr<StagedParts>;

  std::shared_ptr<Work> begin_stages(const CallSignature& call, Parts parts);
  void release(const FailurePtr& failure);

  // The stages; in hierarchical_stages.cpp. The queue runs one of them at a time.
  hierarchy::Stages stages_of(const CallSignature& call, const Staged& staged);
  hierarchy::Stages sum_stages(const CallSignature& call, const Staged& staged);
  hierarchy::Stages broadcast_stages(const CallSignature& call, const Staged& staged);
  hierarchy::Stages gather_stages(const CallSignature& call, const Staged& staged);
  /// The stages of a collective in place, in scratch memory of which every rank takes its part.
  hierarchy::Stages in_scratch(const CallSignature& call, const Staged& staged, hierarchy::Stages in_place);
  std::shared_ptr<Work> sum_and_fetch(const Staged& staged);
  std::shared_ptr<Work> pass_on_and_fetch(const Staged& staged, int root);
  /// Takes over the events of a collective of some of the ranks. Throws Error if it is not launched.
  void note_launched(const Staged& staged, Work& work) const;
  std::shared_ptr<Work> fetch_all(const Staged& staged);
  std::shared_ptr<Work> put_sum(const Staged& staged);
  std::shared_ptr<Work> put_all(const Staged& staged);
  void put_slices(const Staged& staged);
  void copy_to_scratch(const CallSignature& call, const Staged& staged);
  std::shared_ptr<Work> fetch(const Staged& staged);
  std::shared_ptr<Work> fetched(const Staged& staged);
  /// Copies to all devices what goes up to the first from `source`.
  void pass_on(const Staged& staged, Buffer& source);
  std::shared_ptr<Work> launched(const Staged& staged);

  DeviceHierarchy parts_;
  hierarchy::Layout layout_;  // processes of the ranks
  int outer_ = 0;             // the number of this process
  std::vector<DeviceRank> local_;
  std::mutex mutex_;  // guards the order in which collectives begin, and their numbers
  std::int64_t number_ = 0;
  std::shared_ptr<hierarchy::StageQueue> queue_ = std::make_shared<hierarchy::StageQueue>();
  std::vector<Lane> lanes_;  // by local rank
  Buffers buffers_;          // on the host
  GroupWatch watch_;
};

}  // namespace troupe::device
