#pragma once

#include <memory>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/failure.hpp"
#include "troupe/transport/link.hpp"
#include "troupe/transport/progress_listener.hpp"
#include "troupe/transport/work.hpp"

namespace troupe {

/// One rank's end of a group that does collectives. All ranks call the same collectives in the same order, with tensors
/// of the same dtype and size; a rank that does not is named in the Aborted that every rank gets. Every call returns at
/// once; the Work it returns does the rest. The tensors must stay as they are until the work is complete, or has failed
/// and is destroyed.
class Communicator {
 public:
  /// Called, on any thread, when advance() of the work may have more to do. It only wakes someone: it must not call the
  /// communicator or a work itself.
  using OnProgress = ProgressListener;

  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// The sum over all ranks in place of every rank's tensor; each element as ((r0 + r1) + r2) + ... in rank order.
  virtual std::unique_ptr<Work> all_reduce(const Tensor& tensor, OnProgress on_progress = {}) = 0;
  /// Rank `root`'s elements in place of every rank's.
  virtual std::unique_ptr<Work> broadcast(const Tensor& tensor, int root, OnProgress on_progress = {}) = 0;
  /// All ranks' inputs one after the other in every rank's output, which is size() times as long.
  virtual std::unique_ptr<Work> all_gather(const Tensor& input, const Tensor& output, OnProgress on_progress = {}) = 0;
  /// The sum of all ranks' inputs, of which rank r gets part r of size(). The output is that part.
  virtual std::unique_ptr<Work> reduce_scatter(const Tensor& input, const Tensor& output,
                                               OnProgress on_progress = {}) = 0;
  /// Complete when every rank has called it.
  virtual std::unique_ptr<Work> barrier(OnProgress on_progress = {}) = 0;

  /// Sends a tensor to a rank; complete when it is copied away.
  virtual std::unique_ptr<Work> send(const Tensor& tensor, int to, OnProgress on_progress = {}) = 0;
  /// Receives the next tensor from a rank.
  virtual std::unique_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress = {}) = 0;

  /// Makes every collective of every rank fail, now and from now on, with Aborted that carries this root cause (as the
  /// same object within a process, as a copy elsewhere). The first call counts. Any thread.
  virtual void abort(FailurePtr failure) = 0;
  /// This rank begins no further collective: those that it has begun complete, those that it has not fail on all ranks
  /// as with abort(). Where an implementation cannot tell them apart, all fail.
  virtual void leave(FailurePtr failure) { abort(std::move(failure)); }
};

/// A group of `size` ranks within this process. Element r is rank r's end; it may be used on any one thread at a time.
/// Float32, int32, int64, float16 and bfloat16 tensors can be summed; the 16-bit ones are rounded after every addition.
std::vector<std::shared_ptr<Communicator>> make_local_group(int size);

/// One rank of a group whose ranks may live in different parts of a plan, each pair joined by a separate link.
/// `links[r]` leads to rank r; there is none to the rank itself. The links are its own from now on: it closes them at
/// its end, and a rank whose link is gone ends the collectives that need it with a failure that names it. Sums have the
/// same bits as those of a local group. Throws Error if a link is missing.
std::shared_ptr<Communicator> make_linked_communicator(int rank, std::vector<std::shared_ptr<Link>> links);
/// As above, but sums above 4 KiB go round a ring, in an order of their own: slice i begins with rank i.
std::shared_ptr<Communicator> make_ring_communicator(int rank, std::vector<std::shared_ptr<Link>> links);

}  // namespace troupe
