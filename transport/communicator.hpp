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

/// A rank of this process and the device of its tensors; the CPU device if they lie in memory of the host.
struct DeviceRank {
  int rank = 0;
  Device device = {};

  bool operator==(const DeviceRank&) const = default;
};

/// The tensors of one rank in a collective, on the device of the rank.
struct Part {
  /// None if another rank is the root of a collective with one input.
  Tensor input;
  /// None for a collective that works in place.
  Tensor output = {};
  /// The tensors may be read and written from this event on. The event of a host tensor is done.
  Event ready = {};
};

/// A process's end of a group that does collectives: one rank whose tensors lie in memory of the host, or several whose
/// tensors lie on devices. The process begins every collective for all its ranks at once. All ranks begin the same
/// collectives in the same order, with tensors of the same dtype and size; on the host, every rank gets Aborted that
/// names a rank that does not. begin() returns at once and waits neither for a device nor for another process; the Work
/// does the rest. The tensors stay as they are until the work is complete, or has failed and is destroyed.
///
/// An end on the host is used by one thread at a time; an end on devices is thread-safe. Work on devices is launched on
/// streams of the group, one for each device: after `ready`, and beside other work of the devices. A collective of
/// devices has a limit, counted from the time when the first rank of this process is ready for it. If the limit passes,
/// or if a library reports an error, the group ends: later calls throw Aborted, and the devices are released as far as
/// possible. The tensors of a collective that was launched before and is done later are undefined, so the user of a
/// result asks failure() at the end.
class Communicator {
 public:
  using OnProgress = ProgressListener;
  /// The parts of all ranks of this process, in the order of local().
  using Parts = std::span<const Part>;
  using OnFailed = std::function<void(const FailurePtr& failure)>;

  virtual ~Communicator() = default;

  /// Number of ranks in all processes.
  virtual int size() const = 0;
  /// The ranks of this process in ascending order: one on the host, at least one on devices.
  virtual const std::vector<DeviceRank>& local() const = 0;
  /// The first rank of this process.
  int rank() const { return local().front().rank; }

  /// Begins a collective. `root` counts for kinds that have a root. Throws Error for tensors that do not fit; a group
  /// of devices has ended then, because other processes may have begun. Throws Aborted if the group has ended.
  virtual std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) = 0;

  /// The sum over all ranks in place of every rank's tensor; each element as ((r0 + r1) + r2) + ... in rank order,
  /// unless the maker of the group names another order.
  std::shared_ptr<Work> all_reduce(Parts parts) { return begin(CollectiveKind::all_reduce, parts, 0); }
  std::shared_ptr<Work> all_reduce(const Tensor& tensor, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::all_reduce, {tensor}, 0, std::move(on_progress));
  }
  /// Rank `root`'s elements in place of every rank's.
  std::shared_ptr<Work> broadcast(Parts parts, int root) { return begin(CollectiveKind::broadcast, parts, root); }
  std::shared_ptr<Work> broadcast(const Tensor& tensor, int root, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::broadcast, {tensor}, root, std::move(on_progress));
  }
  /// The inputs of all ranks one after the other in every rank's output, which is size() times as long.
  std::shared_ptr<Work> all_gather(Parts parts) { return begin(CollectiveKind::all_gather, parts, 0); }
  std::shared_ptr<Work> all_gather(const Tensor& input, const Tensor& output, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::all_gather, {input, output}, 0, std::move(on_progress));
  }
  /// The sum of all ranks' inputs is cut in size() parts; the output of rank r is part r.
  std::shared_ptr<Work> reduce_scatter(Parts parts) { return begin(CollectiveKind::reduce_scatter, parts, 0); }
  std::shared_ptr<Work> reduce_scatter(const Tensor& input, const Tensor& output, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::reduce_scatter, {input, output}, 0, std::move(on_progress));
  }
  /// The input of rank `root`, which is size() times as long as an output, is cut in size() parts; the output of rank r
  /// is part r. The other ranks have no input.
  std::shared_ptr<Work> scatter(Parts parts, int root) { return begin(CollectiveKind::scatter, parts, root); }
  std::shared_ptr<Work> scatter(const Tensor& input, const Tensor& output, int root, OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::scatter, {input, output}, root, std::move(on_progress));
  }
  /// Complete when every rank has begun it. Only for ranks on the host.
  std::shared_ptr<Work> barrier(OnProgress on_progress = {}) {
    return begin_one(CollectiveKind::barrier, {}, 0, std::move(on_progress));
  }

  /// Sends a tensor to a rank; complete when the tensor is copied away. Throws Error if the group has collectives
  /// alone.
  virtual std::shared_ptr<Work> send(const Tensor& /*tensor*/, int /*to*/, OnProgress /*on_progress*/ = {}) {
    refuse_messages();
  }
  /// Receives the next tensor from a rank. Throws Error if the group has collectives alone.
  virtual std::shared_ptr<Work> recv(const Tensor& /*tensor*/, int /*from*/, OnProgress /*on_progress*/ = {}) {
    refuse_messages();
  }

  /// Makes every collective fail, now and from now on, with Aborted that carries this root cause: on the host those of
  /// every rank (as the same object within a process, as a copy elsewhere), on devices those of this process; other
  /// processes learn of it from the caller or by the limit. The first call counts. Any thread.
  virtual void abort(FailurePtr failure) = 0;
  /// The ranks of this process begin no further collective: those that have begun complete, the others fail on all
  /// ranks as with abort(). If an implementation cannot tell them apart, all fail.
  virtual void leave(FailurePtr failure) { abort(std::move(failure)); }

  /// The reason why a group of devices has ended; null if it has not.
  virtual FailurePtr failure() { return nullptr; }
  /// Sets the function that is called, on a thread of the group, if a group of devices ends by itself, before the
  /// devices are released. It replaces the function that was set before, which is not called any more once on_failed()
  /// returns. An empty function unsets it. Must not be called from the function.
  virtual void on_failed(OnFailed /*callback*/) {}

 protected:
  /// The part of the one rank of this process. Throws Error for another number of parts.
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

/// A group of `size` ranks within this process. Element r is the end of rank r, used by one thread at a time. Float32,
/// int32, int64, float16 and bfloat16 tensors can be summed; the 16-bit ones are rounded after every addition.
std::vector<std::shared_ptr<Communicator>> make_local_group(int size);

/// One rank of a group whose ranks may live in different parts of a plan, each pair joined by a separate link.
/// `links[r]` leads to rank r; there is none to the rank itself. The communicator owns the links: it closes them at its
/// end, and a rank whose link is gone ends the collectives that need it with a failure that names it. Sums have the
/// same bits as those of a local group. Throws Error if a link is missing.
std::shared_ptr<Communicator> make_linked_communicator(int rank, std::vector<std::shared_ptr<Link>> links);
/// A linked communicator whose sums above 4 KiB go round a ring, in another order: slice i begins with rank i.
std::shared_ptr<Communicator> make_ring_communicator(int rank, std::vector<std::shared_ptr<Link>> links);

}  // namespace troupe
