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

/// The tensors and events of one collective of a HierarchicalGroup. The stages of the collective, which run one after
/// the other, change this object. The group's watch_ holds this object, not the work of the collective: the work holds
/// a handle of the group, and watch_, a member of the group, must not keep the group alive.
struct StagedParts final : Watched {
  StagedParts(std::shared_ptr<hierarchy::StageQueue> stage_queue, std::string what, Communicator::Parts given)
      : Watched(std::move(what), given),
        queue(std::move(stage_queue)),
        parts(given.begin(), given.end()),
        in_place(parts),
        done(ready()) {}

  bool is_done() const override { return is_launched || is_dropped; }
  std::string description() const override;

  const std::shared_ptr<hierarchy::StageQueue> queue;
  std::weak_ptr<hierarchy::StagedCollective> collective;  // state in `queue`; set when the work is made
  /// The parts that the caller gave; dropped once the last stage is launched.
  std::vector<Part> parts;
  /// One part for each local rank. Its input is the tensor that the devices sum or broadcast in place: the caller's
  /// input, the output of an all_gather, or the scratch memory of a reduce_scatter or a scatter.
  std::vector<Part> in_place;
  std::shared_ptr<Buffer> sent, received;
  std::vector<std::shared_ptr<Buffer>> scratch;  // by local rank
  std::vector<Event> done;                       // by local rank
  std::atomic<bool> is_launched = false;
  std::atomic<bool> is_dropped = false;  // true once the work of the collective is destroyed
};

/// The Communicator that make_hierarchical_device_group() makes. Every collective has three stages. In the first, the
/// devices of this process or machine sum or, in the process of the root, broadcast, and the result is copied to the
/// host; for an all_gather every device copies its input to the host. In the second, the processes do the collective on
/// memory of the host. In the third, the result is copied to the first device of the process, which broadcasts it to
/// the other devices; after a broadcast or scatter, the process of the root leaves this out. A reduce_scatter or a
/// scatter works in scratch memory, from which every rank then copies its part to its output.
class HierarchicalGroup final : public Communicator, public std::enable_shared_from_this<HierarchicalGroup> {
 public:
  explicit HierarchicalGroup(DeviceHierarchy parts);
  ~HierarchicalGroup() override;

  int size() const override { return layout_.ranks(); }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override;

  void abort(FailurePtr failure) override;
  void leave(FailurePtr failure) override { queue_->leave(failure); }
  FailurePtr failure() override { return watch_.failure(); }
  void on_failed(OnFailed callback) override { watch_.on_failed(std::move(callback)); }

 private:
  /// The scratch memory of a local rank, and its streams for copies: `down` from the device to the host, `up` from the
  /// host to the device. These are two streams, so that a copy up does not wait for the copy down of a later
  /// collective.
  struct Lane {
    std::unique_ptr<Stream> down, up;
    Buffers scratch;
  };
  using Staged = std::shared_ptr<StagedParts>;

  std::shared_ptr<Work> begin_stages(const CallSignature& call, Parts parts);
  void release(const FailurePtr& failure);

  // The functions that make or run stages, in hierarchical_stages.cpp. queue_ runs one stage at a time.
  hierarchy::Stages stages_of(const CallSignature& call, const Staged& staged);
  hierarchy::Stages sum_stages(const CallSignature& call, const Staged& staged);
  hierarchy::Stages broadcast_stages(const CallSignature& call, const Staged& staged);
  hierarchy::Stages gather_stages(const CallSignature& call, const Staged& staged);
  /// Makes the stages of a reduce_scatter or a scatter from `in_place`, the stages of an all_reduce or a broadcast. The
  /// stages work in scratch memory, from which every rank copies its part to its output.
  hierarchy::Stages in_scratch(const CallSignature& call, const Staged& staged, hierarchy::Stages in_place);
  std::shared_ptr<Work> sum_and_fetch(const Staged& staged);
  std::shared_ptr<Work> pass_on_and_fetch(const Staged& staged, int root);
  /// Sets the `done` events of `staged` to those of `work`, a collective of parts_.inside or parts_.machine. Throws
  /// Error if that collective is not launched completely.
  void note_launched(const Staged& staged, Work& work) const;
  std::shared_ptr<Work> fetch_all(const Staged& staged);
  std::shared_ptr<Work> put_sum(const Staged& staged);
  std::shared_ptr<Work> put_all(const Staged& staged);
  void put_slices(const Staged& staged);
  void copy_to_scratch(const CallSignature& call, const Staged& staged);
  std::shared_ptr<Work> fetch(const Staged& staged);
  std::shared_ptr<Work> fetched(const Staged& staged);
  /// Broadcasts the tensor of the first local rank to the other local ranks, after the copies on lanes_[0].up, which
  /// write this tensor from the host memory `source`.
  void pass_on(const Staged& staged, Buffer& source);
  std::shared_ptr<Work> launched(const Staged& staged);

  DeviceHierarchy parts_;
  hierarchy::Layout layout_;  // the distribution of the ranks over processes
  int outer_ = 0;             // the number of this process in layout_
  std::vector<DeviceRank> local_;
  std::mutex mutex_;  // guards the order in which collectives begin, and their numbers
  std::int64_t number_ = 0;
  std::shared_ptr<hierarchy::StageQueue> queue_;
  std::vector<Lane> lanes_;  // by local rank
  Buffers buffers_;          // pinned memory of the host
  GroupWatch watch_;
};

}  // namespace troupe::device
