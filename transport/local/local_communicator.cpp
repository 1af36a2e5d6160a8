#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/communicator.hpp"
#include "troupe/transport/local/collective_work.hpp"
#include "troupe/transport/local/group.hpp"
#include "troupe/transport/rank_sum.hpp"

namespace troupe {

namespace {

using local::CollectiveWork;
using local::Group;
using local::PendingCollective;
using local::RankCall;

class LocalReceive final : public Work {
 public:
  LocalReceive(std::shared_ptr<Group> group, Tensor tensor, const local::Receive& receive)
      : group_(std::move(group)), tensor_(std::move(tensor)), receive_(receive) {}
  ~LocalReceive() override { group_->drop(receive_); }

  bool advance() override {
    if (done_) return true;
    const auto sent = group_->take(receive_);
    if (!sent) return false;
    expect_alike(*sent, receive_.from, tensor_, receive_.to);
    std::memcpy(tensor_.mutable_raw(), sent->raw(), sent->bytes());
    return done_ = true;
  }

  std::string waits_for() const override { return "recv: rank " + std::to_string(receive_.from) + " has not sent"; }

 private:
  std::shared_ptr<Group> group_;
  Tensor tensor_;
  local::Receive receive_;
  bool done_ = false;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->ranks(); }

  std::unique_ptr<Work> all_reduce(const Tensor& tensor, OnProgress on_progress) override {
    const auto reduce = [](const RankCall& call, PendingCollective& pending) {
      const auto mine = slice_of(call.output.elements(), call.ranks, call.rank);
      rank_sum(pending.inputs, mine.first, mine.count, address_of(call.output, mine.first));
    };
    const auto copy = [](const RankCall& call, PendingCollective& pending) {
      for (int other = 0; other < call.ranks; ++other) {
        const auto slice = slice_of(call.output.elements(), call.ranks, other);
        if (other == call.rank || slice.count == 0) continue;
        std::memcpy(address_of(call.output, slice.first), address_of(pending.inputs[other], slice.first),
                    static_cast<std::size_t>(slice.count) * size_of(call.output.dtype()));
      }
    };
    return begin(CollectiveKind::all_reduce, call_of(tensor, tensor), reduce, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> broadcast(const Tensor& tensor, int root, OnProgress on_progress) override {
    expect_rank(root, size());
    const auto copy = [](const RankCall& call, PendingCollective& pending) {
      if (call.rank != call.root && call.output.bytes() > 0)
        std::memcpy(call.output.mutable_raw(), pending.inputs[call.root].raw(), call.output.bytes());
    };
    return begin(CollectiveKind::broadcast, call_of(tensor, tensor, root), nullptr, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> all_gather(const Tensor& input, const Tensor& output, OnProgress on_progress) override {
    expect_multiple("all_gather", output, input, size());
    const auto copy = [](const RankCall& call, PendingCollective& pending) {
      for (std::size_t other = 0; other < pending.inputs.size() && call.input.bytes() > 0; ++other)
        std::memcpy(call.output.mutable_raw() + other * call.input.bytes(), pending.inputs[other].raw(),
                    call.input.bytes());
    };
    return begin(CollectiveKind::all_gather, call_of(input, output), nullptr, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> reduce_scatter(const Tensor& input, const Tensor& output, OnProgress on_progress) override {
    expect_multiple("reduce_scatter", input, output, size());
    const auto reduce = [](const RankCall& call, PendingCollective& pending) {
      const auto count = call.output.elements();
      rank_sum(pending.inputs, count * call.rank, count, call.output.mutable_raw());
    };
    return begin(CollectiveKind::reduce_scatter, call_of(input, output), reduce, nullptr, std::move(on_progress));
  }

  std::unique_ptr<Work> barrier(OnProgress on_progress) override {
    const Tensor nothing(Shape{0}, DType::uint8);
    return begin(CollectiveKind::barrier, call_of(nothing, nothing), nullptr, nullptr, std::move(on_progress));
  }

  std::unique_ptr<Work> send(const Tensor& tensor, int to, OnProgress) override {
    expect_rank(to, size());
    group_->send(rank_, to, tensor);
    return std::make_unique<CompletedWork>();
  }

  std::unique_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    expect_rank(from, size());
    const auto receive = group_->post(from, rank_, std::move(on_progress));
    return std::make_unique<LocalReceive>(group_, tensor, receive);
  }

  void abort(FailurePtr failure) override { group_->abort(Group::kNobody, std::move(failure)); }

  void leave(FailurePtr failure) override { group_->leave(rank_, std::move(failure)); }

 private:
  RankCall call_of(const Tensor& input, const Tensor& output, int root = 0) const {
    return {rank_, size(), root, input, output};
  }
  std::unique_ptr<Work> begin(CollectiveKind kind, const RankCall& call, CollectiveWork::Piece reduce,
                              CollectiveWork::Piece copy, OnProgress on_progress) {
    const CallSignature signature{kind, call.input.dtype(), call.input.elements(), call.root};
    auto pending = group_->enter(rank_, signature, call.input, std::move(on_progress));
    return std::make_unique<CollectiveWork>(group_, std::move(pending), call, reduce, copy);
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
