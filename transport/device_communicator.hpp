#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// A rank of this process, and where its tensors lie.
struct DeviceRank {
  int rank = 0;
  Device device;

  bool operator==(const DeviceRank&) const = default;
};

/// What a rank of this process brings to a collective.
struct DevicePart {
  /// On the device of the rank. All-reduces and broadcasts work in place and have no output.
  Tensor input;
  Tensor output = {};
  /// From then on the tensors may be read and written.
  Event ready = {};
  /// Called, on any thread, when DeviceWork::advance() may have more to do. It only wakes someone.
  ProgressListener on_progress = {};
};

/// A collective on its way on the devices of this process. One that is dropped before all of it is launched ends its
/// group; once it is launched nobody needs it. Thread-safe.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;

  /// Launches what can be launched now, without waiting. True once everything is, which is so from the start unless the
  /// host takes part. Throws Aborted if the group has ended before.
  virtual bool advance() = 0;
  /// When the result is in the tensors of rank number `local` of this process, and nobody reads them any more: an event
  /// of that rank's device. Valid once everything is launched.
  virtual const Event& done(std::size_t local) const = 0;
  /// For people: `all_reduce of 16 float32: rank 1 (cuda:1) has not come`.
  virtual std::string waits_for() const = 0;
};

/// A process's part of a group whose ranks are devices with memory of their own. The process begins every collective
/// for all its ranks at once; all processes begin the same collectives in the same order, on tensors of the same dtype
/// and size. Work is launched on streams of the group's own, one for each device: after `ready`, and beside whatever
/// else the devices do. No call waits for a device or for another process.
///
/// A collective has a limit, counted from when the first rank of this process is ready for it. If it passes, or if a
/// library reports an error, the group ends: later calls throw Aborted, and the devices are released as far as
/// possible; what was launched, and is done later, may have left anything in its tensors. So whoever uses a result also
/// asks failure() at the end.
///
/// Thread-safe. Calls throw Error for tensors that do not fit; then the group has ended, because other processes may
/// have begun.
class DeviceCommunicator {
 public:
  using Parts = std::span<const DevicePart>;
  using OnFailed = std::function<void(const FailurePtr& failure)>;

  virtual ~DeviceCommunicator() = default;

  /// Ranks of all processes.
  virtual int size() const = 0;
  /// Those of this process in ascending order; the parts of a collective come in the same order.
  virtual const std::vector<DeviceRank>& local() const = 0;

  /// The sum over all ranks in place of every rank's tensor.
  virtual std::shared_ptr<DeviceWork> all_reduce(Parts parts) = 0;
  /// Rank `root`'s elements in place of every rank's.
  virtual std::shared_ptr<DeviceWork> broadcast(Parts parts, int root) = 0;
  /// All ranks' inputs one after the other in every rank's output, which is size() times as long.
  virtual std::shared_ptr<DeviceWork> all_gather(Parts parts) = 0;
  /// The sum of all ranks' inputs, of which rank r gets part r of size(). The output is that part.
  virtual std::shared_ptr<DeviceWork> reduce_scatter(Parts parts) = 0;

  /// Ends the group in this process, now and for ever; other processes learn of it from whoever called, or by the
  /// limit. The first failure counts.
  virtual void abort(FailurePtr failure) = 0;
  /// No further collective can begin; those that have begun go on, where an implementation can tell them apart.
  virtual void leave(FailurePtr failure) = 0;
  /// Why the group has ended; null if it has not.
  virtual FailurePtr failure() = 0;
  /// Whom to tell, on a thread of the group's, if the group ends by itself: before the devices are released. In place
  /// of whoever was named before, who is not called any more when this returns; empty: nobody. Not to be called from
  /// there.
  virtual void on_failed(OnFailed callback) = 0;
};

struct DeviceGroupOptions {
  /// How long a collective may take.
  std::chrono::milliseconds limit{30'000};
};

/// A group of devices of this process, rank r on `devices[r]`, of one kind; several ranks may share a device. Sums are
/// made by the devices' own kernels, in rank order: the bits of make_local_group(). Throws Error if there is no such
/// device, or if the kinds differ.
std::shared_ptr<DeviceCommunicator> make_device_group(const std::vector<Device>& devices,
                                                      const DeviceGroupOptions& options = {});

/// What a group of devices in several processes consists of, seen from one of them.
struct DeviceHierarchy {
  /// The process of every rank, by rank.
  std::vector<int> process_of;
  /// The ranks of this process, numbered in their order.
  std::shared_ptr<DeviceCommunicator> inside;
  /// One rank a process, in the order of their first ranks, on the host. Its own from now on.
  std::shared_ptr<Communicator> across;
  DeviceGroupOptions options = {};
  /// The ranks of this machine, numbered in their order, if some are in other processes and the devices can sum
  /// together: they do before `across` does, which then takes the sum of a machine from the process of its first rank
  /// alone. Null: each process sums its own.
  std::shared_ptr<DeviceCommunicator> machine = {};
};

/// A group that sums on the devices of every process or machine first, and then across these through memory of the
/// host. A sum is that of their sums: the same bits on all ranks and from run to run. Throws Error if the parts do not
/// fit together.
std::shared_ptr<DeviceCommunicator> make_hierarchical_device_group(DeviceHierarchy hierarchy);

}  // namespace troupe
