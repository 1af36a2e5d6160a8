#include <algorithm>
#include <atomic>
#include <compare>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/communicator.hpp"
#include "troupe/transport/inbox.hpp"
#include "troupe/transport/local/pending_collective.hpp"
#include "troupe/transport/rank_sum.hpp"

namespace troupe {

namespace {

using local::PendingCollective;

constexpr int kNobody = -1;

/// A receive that is not complete.
struct Receive {
  int from, to;
  std::int64_t number;  // in their inbox

  auto operator<=>(const Receive&) const = default;
};

/// What the ranks of one group share.
struct Group {
  explicit Group(int size) : next_call(size, 0), ranks(size) {}

  std::mutex mutex;
  std::vector<std::int64_t> next_call;
  std::map<std::int64_t, std::shared_ptr<PendingCollective>> pending;
  std::map<std::pair<int, int>, Inbox> inboxes;  // by sender and receiver
  std::map<Receive, std::function<void()>> receivers;
  Abort abort;
  /// Collectives from this number on will not complete, because a rank has left.
  std::atomic<std::int64_t> left_at{std::numeric_limits<std::int64_t>::max()};
  Abort left;
  std::set<int> ranks_that_left;
  int ranks;
};

bool has_left(const Group& group, std::int64_t number) {
  return number >= group.left_at.load(std::memory_order_acquire);
}

/// Throws Aborted if the collective cannot complete.
void check_alive(const Group& group, std::int64_t number) {
  group.abort.check();
  if (has_left(group, number)) group.left.check();
}

/// Fails every collective of the group, and wakes all ranks except one.
void abort_group(Group& group, int except, FailurePtr failure) {
  group.abort.set(std::move(failure));
  std::lock_guard lock(group.mutex);
  for (const auto& [number, pending] : group.pending) pending->notify(except);
  for (const auto& [receive, receiver] : group.receivers)
    if (receiver && receive.to != except) receiver();
}

/// One rank's way through a collective: `reduce` after all arrived, `copy` after all reduced.
class CollectiveWork final : public Work {
 public:
  using Piece = std::function<void(PendingCollective&)>;

  CollectiveWork(std::shared_ptr<Group> group, std::shared_ptr<PendingCollective> pending, int rank, Piece reduce,
                 Piece copy)
      : group_(std::move(group)),
        pending_(std::move(pending)),
        rank_(rank),
        pieces_{std::move(reduce), std::move(copy)} {}
  ~CollectiveWork() override {
    // Otherwise the tensor was let go of when the collective completed, or others still need it.
    if (!group_->abort.is_set() && !has_left(*group_, pending_->number)) return;
    const std::unique_lock nobody_reads(pending_->reading);
    pending_->inputs[rank_] = Tensor();
  }

  bool advance() override {
    const std::shared_lock reads(pending_->reading);
    check_alive(*group_, pending_->number);
    try {
      return advance_phases();
    } catch (...) {
      abort_group(*group_, rank_, failure_now());
      throw;
    }
  }

  std::string waits_for() const override {
    if (waiting_for_ == PendingCollective::kPhases) return "nothing";
    const char* const missing[] = {" has not come", " has not summed its slice", " has not copied the result"};
    const auto rank = pending_->missing(static_cast<PendingCollective::Phase>(waiting_for_));
    return to_string(pending_->signature) + ": rank " + std::to_string(rank) + missing[waiting_for_];
  }

 private:
  bool advance_phases() {
    for (; waiting_for_ < PendingCollective::kPhases; ++waiting_for_) {
      if (!pending_->complete(static_cast<PendingCollective::Phase>(waiting_for_))) return false;
      if (waiting_for_ == PendingCollective::copied) continue;
      if (const auto& piece = pieces_[waiting_for_]) piece(*pending_);
      pending_->pass(rank_, static_cast<PendingCollective::Phase>(waiting_for_ + 1));
    }
    // Nobody reads it any more, and whoever lent the tensor counts its handles.
    pending_->inputs[rank_] = Tensor();
    std::lock_guard lock(group_->mutex);
    group_->pending.erase(pending_->number);
    return true;
  }

  std::shared_ptr<Group> group_;
  std::shared_ptr<PendingCollective> pending_;
  int rank_;
  std::array<Piece, 2> pieces_;
  int waiting_for_ = PendingCollective::arrived;
};

class ReceiveWork final : public Work {
 public:
  ReceiveWork(std::shared_ptr<Group> group, Tensor tensor, const Receive& receive)
      : group_(std::move(group)), tensor_(std::move(tensor)), receive_(receive) {}
  ~ReceiveWork() override {
    std::lock_guard lock(group_->mutex);
    group_->receivers.erase(receive_);
    group_->inboxes[{receive_.from, receive_.to}].drop(receive_.number);
  }

  bool advance() override {
    if (done_) return true;
    group_->abort.check();
    const auto sent = next();
    if (!sent) return false;
    expect_alike(*sent, receive_.from, tensor_, receive_.to);
    std::memcpy(tensor_.mutable_raw(), sent->raw(), sent->bytes());
    return done_ = true;
  }

  std::string waits_for() const override { return "recv: rank " + std::to_string(receive_.from) + " has not sent"; }

 private:
  std::optional<Tensor> next() {
    std::lock_guard lock(group_->mutex);
    auto sent = group_->inboxes[{receive_.from, receive_.to}].take(receive_.number);
    if (!sent && group_->ranks_that_left.contains(receive_.from)) group_->left.check();
    return sent;
  }

  std::shared_ptr<Group> group_;
  Tensor tensor_;
  Receive receive_;
  bool done_ = false;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->ranks; }

  std::unique_ptr<Work> all_reduce(const Tensor& tensor, OnProgress on_progress) override {
    const auto reduce = [rank = rank_, ranks = size(), tensor](PendingCollective& pending) {
      const auto mine = slice_of(tensor.elements(), ranks, rank);
      rank_sum(pending.inputs, mine.first, mine.count, address_of(tensor, mine.first));
    };
    const auto copy = [rank = rank_, ranks = size(), tensor](PendingCollective& pending) {
      for (int other = 0; other < ranks; ++other) {
        const auto slice = slice_of(tensor.elements(), ranks, other);
        if (other == rank || slice.count == 0) continue;
        std::memcpy(address_of(tensor, slice.first), address_of(pending.inputs[other], slice.first),
                    static_cast<std::size_t>(slice.count) * size_of(tensor.dtype()));
      }
    };
    return begin(CollectiveKind::all_reduce, tensor, tensor.elements(), 0, reduce, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> broadcast(const Tensor& tensor, int root, OnProgress on_progress) override {
    expect_rank(root, size());
    const auto copy = [rank = rank_, root, tensor](PendingCollective& pending) {
      if (rank != root && tensor.bytes() > 0)
        std::memcpy(tensor.mutable_raw(), pending.inputs[root].raw(), tensor.bytes());
    };
    return begin(CollectiveKind::broadcast, tensor, tensor.elements(), root, {}, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> all_gather(const Tensor& input, const Tensor& output, OnProgress on_progress) override {
    expect_multiple("all_gather", output, input, size());
    const auto copy = [input, output](PendingCollective& pending) {
      for (std::size_t other = 0; other < pending.inputs.size() && input.bytes() > 0; ++other)
        std::memcpy(output.mutable_raw() + other * input.bytes(), pending.inputs[other].raw(), input.bytes());
    };
    return begin(CollectiveKind::all_gather, input, input.elements(), 0, {}, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> reduce_scatter(const Tensor& input, const Tensor& output, OnProgress on_progress) override {
    expect_multiple("reduce_scatter", input, output, size());
    const auto reduce = [rank = rank_, output](PendingCollective& pending) {
      rank_sum(pending.inputs, output.elements() * rank, output.elements(), output.mutable_raw());
    };
    return begin(CollectiveKind::reduce_scatter, input, input.elements(), 0, reduce, {}, std::move(on_progress));
  }

  std::unique_ptr<Work> barrier(OnProgress on_progress) override {
    return begin(CollectiveKind::barrier, Tensor(Shape{0}, DType::uint8), 0, 0, {}, {}, std::move(on_progress));
  }

  std::unique_ptr<Work> send(const Tensor& tensor, int to, OnProgress) override {
    expect_rank(to, size());
    group_->abort.check();
    OnProgress receiver;
    {
      std::lock_guard lock(group_->mutex);
      const auto number = group_->inboxes[{rank_, to}].arrive(tensor.clone());
      if (const auto found = group_->receivers.find({rank_, to, number}); found != group_->receivers.end())
        receiver = found->second;
    }
    if (receiver) receiver();
    return std::make_unique<CompletedWork>();
  }

  std::unique_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    expect_rank(from, size());
    std::lock_guard lock(group_->mutex);
    const Receive receive{from, rank_, group_->inboxes[{from, rank_}].post()};
    group_->receivers[receive] = std::move(on_progress);
    return std::make_unique<ReceiveWork>(group_, tensor, receive);
  }

  void abort(FailurePtr failure) override { abort_group(*group_, kNobody, std::move(failure)); }

  void leave(FailurePtr failure) override {
    group_->left.set(std::move(failure));
    std::lock_guard lock(group_->mutex);
    group_->ranks_that_left.insert(rank_);
    const auto first = std::min(group_->left_at.load(), group_->next_call[rank_]);
    group_->left_at.store(first, std::memory_order_release);
    for (const auto& [number, pending] : group_->pending)
      if (number >= first) pending->notify(kNobody);
    for (const auto& [receive, receiver] : group_->receivers)
      if (receiver && receive.from == rank_) receiver();
  }

 private:
  std::unique_ptr<Work> begin(CollectiveKind kind, const Tensor& input, std::int64_t elements, int root,
                              CollectiveWork::Piece reduce, CollectiveWork::Piece copy, OnProgress on_progress) {
    {
      std::lock_guard lock(group_->mutex);
      check_alive(*group_, group_->next_call[rank_]);
    }
    auto pending = enter({kind, input.dtype(), elements, root}, input, std::move(on_progress));
    pending->pass(rank_, PendingCollective::arrived);
    return std::make_unique<CollectiveWork>(group_, std::move(pending), rank_, std::move(reduce), std::move(copy));
  }

  std::shared_ptr<PendingCollective> enter(const CallSignature& signature, const Tensor& input,
                                           OnProgress on_progress) {
    std::unique_lock lock(group_->mutex);
    const auto number = group_->next_call[rank_]++;
    auto& pending = group_->pending[number];
    if (!pending) {
      pending = std::make_shared<PendingCollective>(size());
      pending->number = number;
      pending->signature = signature;
      pending->first_rank = rank_;
    } else if (!(pending->signature == signature)) {
      const auto failure = disagreement(number, pending->signature, pending->first_rank, signature, rank_);
      lock.unlock();
      abort_group(*group_, rank_, failure);
      throw Aborted(failure);
    }
    auto entered = pending;
    entered->inputs[rank_] = input;
    entered->listen(rank_, std::move(on_progress));
    return entered;
  }

  std::shared_ptr<Group> group_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> make_local_group(int size) {
  if (size < 1) throw Error("communicator", "a group needs at least one rank, not " + std::to_string(size));
  const auto group = std::make_shared<Group>(size);
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_shared<LocalCommunicator>(group, rank));
  return ranks;
}

}  // namespace troupe
