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

class ReceiveWork final : public Work {
 public:
  ReceiveWork(std::shared_ptr<Group> group, Tensor tensor, const local::Receive& receive)
      : group_(std::move(group)), tensor_(std::move(tensor)), receive_(receive) {}
  ~ReceiveWork() override { group_->drop(receive_); }

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
    group_->send(rank_, to, tensor);
    return std::make_unique<CompletedWork>();
  }

  std::unique_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    expect_rank(from, size());
    const auto receive = group_->post(from, rank_, std::move(on_progress));
    return std::make_unique<ReceiveWork>(group_, tensor, receive);
  }

  void abort(FailurePtr failure) override { group_->abort(Group::kNobody, std::move(failure)); }

  void leave(FailurePtr failure) override { group_->leave(rank_, std::move(failure)); }

 private:
  std::unique_ptr<Work> begin(CollectiveKind kind, const Tensor& input, std::int64_t elements, int root,
                              CollectiveWork::Piece reduce, CollectiveWork::Piece copy, OnProgress on_progress) {
    auto pending = group_->enter(rank_, {kind, input.dtype(), elements, root}, input, std::move(on_progress));
    return std::make_unique<CollectiveWork>(group_, std::move(pending), rank_, std::move(reduce), std::move(copy));
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
