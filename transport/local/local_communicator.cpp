#include <array>
#include <cstring>
#include <mutex>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/communicator.hpp"
#include "troupe/transport/local/group.hpp"
#include "troupe/transport/local/reused_memory.hpp"
#include "troupe/transport/rank_sum.hpp"

namespace troupe {

namespace {

using local::Group;
using local::PendingCollective;

/// The arguments of one rank in a collective: `rank` is its number, `ranks` the size of the group, `root` the number of
/// the root; `input` and `output` are the tensors of the rank.
struct RankCall {
  int rank = 0, ranks = 1, root = 0;
  Tensor input, output;
};

std::byte* address_of(const Tensor& tensor, std::int64_t element) {
  return tensor.mutable_raw() + static_cast<std::size_t>(element) * size_of(tensor.dtype());
}

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void sum_slice(const RankCall& call, PendingCollective& pending) {
  const auto mine = slice_of(call.output.elements(), call.ranks, call.rank);
  rank_sum(pending.inputs, mine.first, mine.count, address_of(call.output, mine.first));
}

void copy_slices(const RankCall& call, PendingCollective& pending) {
  for (int other = 0; other < call.ranks; ++other) {
    const auto slice = slice_of(call.output.elements(), call.ranks, other);
    if (other != call.rank)
      copy_bytes(address_of(pending.inputs[other], slice.first), address_of(call.output, slice.first),
                 static_cast<std::size_t>(slice.count) * size_of(call.output.dtype()));
  }
}

void sum_part(const RankCall& call, PendingCollective& pending) {
  const auto count = call.output.elements();
  rank_sum(pending.inputs, count * call.rank, count, call.output.mutable_raw());
}

void copy_root(const RankCall& call, PendingCollective& pending) {
  if (call.rank != call.root)
    copy_bytes(pending.inputs[call.root].raw(), call.output.mutable_raw(), call.output.bytes());
}

void copy_all(const RankCall& call, PendingCollective& pending) {
  const auto bytes = call.input.bytes();
  for (std::size_t other = 0; other < pending.inputs.size(); ++other)
    copy_bytes(pending.inputs[other].raw(), call.output.mutable_raw() + other * bytes, bytes);
}

void copy_part(const RankCall& call, PendingCollective& pending) {
  const auto bytes = call.output.bytes();
  copy_bytes(pending.inputs[call.root].raw() + bytes * static_cast<std::size_t>(call.rank), call.output.mutable_raw(),
             bytes);
}

/// A Piece is a computation of one rank in a collective, or null. Pieces has the two computations of a rank: element 0
/// runs once all ranks have passed the phase `arrived` of the PendingCollective, element 1 once all have passed
/// `reduced`.
using Piece = void (*)(const RankCall& call, PendingCollective& pending);
using Pieces = std::array<Piece, 2>;

Pieces pieces_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return {sum_slice, copy_slices};
    case CollectiveKind::broadcast:
      return {nullptr, copy_root};
    case CollectiveKind::all_gather:
      return {nullptr, copy_all};
    case CollectiveKind::reduce_scatter:
      return {sum_part, nullptr};
    case CollectiveKind::barrier:
      return {};
    case CollectiveKind::scatter:
      return {nullptr, copy_part};
  }
  return {};
}

/// The work of one rank in a collective: the rank passes the phases of a PendingCollective.
class CollectiveWork final : public HostWork {
 public:
  CollectiveWork(std::shared_ptr<Group> group, std::shared_ptr<PendingCollective> pending, RankCall call,
                 const Pieces& pieces)
      : group_(std::move(group)), pending_(std::move(pending)), call_(std::move(call)), pieces_(pieces) {
    pending_->pass(call_.rank, PendingCollective::arrived);
  }
  ~CollectiveWork() override {
    // After a failure no rank begins to read this rank's input, so it is dropped here. Without a failure
    // advance_phases() has dropped it, or other ranks still read it.
    if (group_->failed(pending_->number)) {
      const std::unique_lock no_reader(pending_->reading);
      pending_->inputs[call_.rank] = Tensor();
    }
    group_->release(std::move(pending_));
  }

  bool advance(std::size_t /*local*/) override {
    const std::shared_lock reads(pending_->reading);
    group_->check(pending_->number);
    try {
      return advance_phases();
    } catch (...) {
      group_->abort(call_.rank, failure_now());
      throw;
    }
  }

  void listen(std::size_t /*local*/, ProgressListener listener) override {
    pending_->listeners.set(static_cast<std::size_t>(call_.rank), std::move(listener));
  }

  std::string waits_for(std::size_t /*local*/) const override {
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
      if (const auto piece = pieces_[waiting_for_]) piece(call_, *pending_);
      pending_->pass(call_.rank, static_cast<PendingCollective::Phase>(waiting_for_ + 1));
    }
    // No rank reads the input any more. The caller may check that no handle is left when the work is complete.
    pending_->inputs[call_.rank] = Tensor();
    call_.input = call_.output = Tensor();
    group_->complete(*pending_);
    return true;
  }

  std::shared_ptr<Group> group_;
  std::shared_ptr<PendingCollective> pending_;
  RankCall call_;
  Pieces pieces_;
  int waiting_for_ = PendingCollective::arrived;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), local_{DeviceRank{rank}} {}

  int size() const override { return group_->ranks(); }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    const auto& [input, output, ready] = only_part(parts);
    const auto signature = signature_of(kind, input, output, rank(), size(), root);
    const bool in_place = form_of(kind).output == OutputSize::in_place;
    auto pending = group_->enter(rank(), signature, input);
    return std::allocate_shared<CollectiveWork>(
        local::ReusedMemory<CollectiveWork>(), group_, std::move(pending),
        RankCall{rank(), size(), signature.root, input, in_place ? input : output}, pieces_of(kind));
  }

  std::shared_ptr<Work> send(const Tensor& tensor, int to, OnProgress) override {
    expect_rank(to, size());
    group_->send(rank(), to, tensor);
    return std::make_shared<CompletedWork>();
  }

  std::shared_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    expect_rank(from, size());
    auto work = std::make_shared<ReceiveWork<Group>>(group_, tensor, from, rank());
    work->listen(0, std::move(on_progress));
    return work;
  }

  void abort(FailurePtr failure) override { group_->abort(Group::kNoRank, std::move(failure)); }

  void leave(FailurePtr failure) override { group_->leave(rank(), std::move(failure)); }

 private:
  std::shared_ptr<Group> group_;
  const std::vector<DeviceRank> local_;
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
