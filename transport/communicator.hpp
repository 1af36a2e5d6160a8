#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/collective_kind.hpp"
#include "troupe/transport/failure.hpp"
#include "troupe/transport/link.hpp"
#include "troupe/transport/progress_listener.hpp"
#include "troupe/transport/work.hpp"

namespace troupe {

/// A rank of this process and the device of its tensors, which is the CPU device if they lie in memory of the host.
struct DeviceRank {
  int rank = 0;
  Device device = {};

  bool operator==(const DeviceRank&) const = default;
};

/// The tensors of one rank in a collective, on the device of the rank.
struct Part {
  /// Default-constructed if only the root has an input in this kind of collective and this rank is not the root.
  Tensor input;
  /// Default-constructed if the result overwrites the input, as in all_reduce and broadcast.
  Tensor output = {};
  /// The event after which the group may read and write the tensors. If the tensors lie in memory of the host, the
  /// event must be done when the collective begins.
  Event ready = {};
};

/// A process's end of a group of ranks that do collectives: one rank whose tensors lie in memory of the host, or
/// several ranks whose tensors lie on devices. The process begins every collective for all its ranks at once. All ranks
/// must begin the same collectives in the same order, with tensors of the same dtype and size. If a rank of a group on
/// the host begins another collective, the group ends: every rank gets Aborted with a text that names both collectives.
/// begin() returns at once and waits neither for a device nor for another process; Work::advance() and the devices do
/// the rest. The caller must not write to the tensors or free them before the work is complete, or has failed and is
/// destroyed.
///
/// A communicator on the host is used by one thread at a time; one on devices is thread-safe. Collectives on devices
/// are launched on streams of the group, one for each device: they begin after Part::ready, and run concurrently with
/// other work of the devices. Each collective has a time limit, counted from the time when the collectives before it
/// are done and the tensors of at least one rank of this process are ready for it. If the limit passes, or if a library
/// reports an error, the group ends: later calls throw Aborted, and streams that wait in a collective are released if
/// the backend can do so. If the group ends while a launched collective runs, the tensors of that collective are
/// undefined although its event becomes done, so the caller must check failure() before it uses a result.
class Communicator {
 public:
  using OnProgress = ProgressListener;
  /// The parts of all ranks of this process, in the order of the ranks in local().
  using Parts = std::span<const Part>;
  using OnFailed = std::function<void(const FailurePtr& failure)>;

  virtual ~Communicator() = default;

  /// Number of ranks in all processes.
  virtual int size() const = 0;
  /// The ranks of this process in ascending order: one on the host, at least one on devices.
  virtual const std::vector<DeviceRank>& local() const = 0;
  /// The first rank of this process.
  int rank() const { return local().front().rank; }

  /// Begins a collective. `root` must be a rank; kinds without a root ignore it. Throws Error if the tensors do not fit
  /// the kind. On devices this error ends the group, because other processes may have begun the collective. Throws
  /// Aborted if the group has ended.
  virtual std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) = 0;

  /// Replaces every rank's tensor by the sum over all ranks. Each element is ((r0 + r1) + r2) + ... in rank order,
  /// unless the function that makes the group names another order. Here and below, the functions with tensors in place
  /// of `parts` are for a process with one rank; they make `on_progress`, if set, the listener of the work.
  std::shared_ptr<Work> all_reduce(Parts parts) { return begin(CollectiveKind::all_reduce, parts, 0); }
  std::shared_ptr<Work> all_reduce(const Tensor& tensor, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::all_reduce, {tensor}, 0, std::move(on_progress));
  }
  /// Replaces every rank's elements by those of rank `root`.
  std::shared_ptr<Work> broadcast(Parts parts, int root) { return begin(CollectiveKind::broadcast, parts, root); }
  std::shared_ptr<Work> broadcast(const Tensor& tensor, int root, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::broadcast, {tensor}, root, std::move(on_progress));
  }
  /// Writes the inputs of all ranks, one after the other, to every rank's output, which has size() times as many
  /// elements.
  std::shared_ptr<Work> all_gather(Parts parts) { return begin(CollectiveKind::all_gather, parts, 0); }
  std::shared_ptr<Work> all_gather(const Tensor& input, const Tensor& output, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::all_gather, {input, output}, 0, std::move(on_progress));
  }
  /// Sums the inputs of all ranks and cuts the sum into size() equal parts; the output of rank r is part r.
  std::shared_ptr<Work> reduce_scatter(Parts parts) { return begin(CollectiveKind::reduce_scatter, parts, 0); }
  std::shared_ptr<Work> reduce_scatter(const Tensor& input, const Tensor& output, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::reduce_scatter, {input, output}, 0, std::move(on_progress));
  }
  /// Cuts the input of rank `root` into size() equal parts; the output of rank r is part r. The other ranks have no
  /// input.
  std::shared_ptr<Work> scatter(Parts parts, int root) { return begin(CollectiveKind::scatter, parts, root); }
  std::shared_ptr<Work> scatter(const Tensor& input, const Tensor& output, int root, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::scatter, {input, output}, root, std::move(on_progress));
  }
  /// Begins a barrier, which is complete when every rank has begun it. Only for ranks on the host.
  std::shared_ptr<Work> barrier(OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::barrier, {}, 0, std::move(on_progress));
  }

  /// Sends a tensor to rank `to`. The work is complete when the tensor is copied, so that the caller may write to it
  /// again. Throws Error if the group supports collectives only.
  virtual std::shared_ptr<Work> send(const Tensor& /*tensor*/, int /*to*/, OnProgress /*on_progress*/ = {}) {
    refuse_messages();
  }
  /// Receives the next tensor that rank `from` sends, and copies it into `tensor`. Throws Error if the group supports
  /// collectives only.
  virtual std::shared_ptr<Work> recv(const Tensor& /*tensor*/, int /*from*/, OnProgress /*on_progress*/ = {}) {
    refuse_messages();
  }

  /// Ends the group: every collective that is not complete, and every later one, fails with Aborted that carries
  /// `failure`. On the host this reaches every rank; ranks of this process share the object `failure`, ranks of other
  /// processes get a copy. On devices it reaches the ranks of this process; another process ends its part of the group
  /// when its caller aborts it or its limit passes. Only the first call has an effect. May be called on any thread.
  virtual void abort(FailurePtr failure) = 0;
  /// Declares that the ranks of this process begin no further collective. Collectives that these ranks have begun can
  /// still complete, if these ranks go on to advance them; later ones fail on all ranks with Aborted that carries
  /// `failure`; on the host it is Departed. The default calls abort(), which fails the earlier ones, too. A group that
  /// cannot tell the ranks of other processes fails as a whole: it calls the function of on_failed().
  virtual void leave(FailurePtr failure) { abort(std::move(failure)); }

  /// Returns the reason why a group of devices has ended, or null if it has not. Always null for a group on the host.
  virtual FailurePtr failure() { return nullptr; }
  /// Sets the function that is called, on a thread of the group, if a group of devices ends because of a limit or an
  /// error, before streams that wait in a collective are released. abort() does not call the function. It replaces the
  /// function that was set before, which is no longer called once on_failed() has returned. An empty function unsets
  /// it. The function must not call on_failed().
  virtual void on_failed(OnFailed /*callback*/) {}

 protected:
  /// Returns the only element of `parts`, for a process with one rank. Throws Error unless there is exactly one.
  static const Part& only_part(Parts parts) {
    if (parts.size() != 1)
      throw Error("communicator", std::to_string(parts.size()) + " ranks of this process come, which has 1");
    return parts[0];
  }

 private:
  std::shared_ptr<Work> begin_one(CollectiveKind kind, const Part& part, int root, OnProgress on_progress) {
    auto work = begin(kind, {&part, 1}, root);
    if (on_progress) work->listen(0, std::move(on_progress));
    return work;
  }
  [[noreturn]] static void refuse_messages() {
    throw Error("communicator", "the ranks of this group do collectives and send each other no tensors");
  }
};

/// Makes a group of `size` ranks within this process. Element r of the result is the communicator of rank r. Sums
/// accept float32, int32, int64, float16 and bfloat16; 16-bit floats are rounded after every addition. Throws Error if
/// `size` is below 1.
std::vector<std::shared_ptr<Communicator>> make_local_group(int size);

/// Makes the communicator of rank `rank` in a group whose ranks may be in different processes. A separate link joins
/// each pair of ranks: `links[r]` leads to rank r, and `links[rank]` must be null. The communicator owns the links and
/// closes them when it is destroyed. If the link to a rank fails, the collectives that need the rank fail with a text
/// that names it. Sums have the same bits as those of a local group. Throws Error if a link is missing.
std::shared_ptr<Communicator> make_linked_communicator(int rank, std::vector<std::shared_ptr<Link>> links);
/// Makes a communicator like make_linked_communicator(), except that all_reduce sends tensors above 4 KiB round a ring
/// to sum them: the sum of slice i begins with rank i, so its bits differ from those of a local group.
std::shared_ptr<Communicator> make_ring_communicator(int rank, std::vector<std::shared_ptr<Link>> links);

}  // namespace troupe
