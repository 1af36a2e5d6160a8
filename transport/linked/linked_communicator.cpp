#include "troupe/transport/communicator.hpp"
#include "troupe/transport/linked/linked_work.hpp"

namespace troupe {

namespace {

using linked::Inputs;
using linked::kSmallBytes;
using linked::RankState;
using linked::Steps;

/// Returns a function for Steps::combine that adds the chunks of all ranks in rank order, and writes the sum to the
/// same place of `output`. `input` has the elements of this rank.
auto sum_of(const Tensor& input, const Tensor& output, int rank) {
  return [input, output, rank](const Slice& chunk, const Inputs& inputs) {
    linked::sum(inputs, rank, part_of(input, chunk), part_of(output, chunk));
  };
}

/// The steps of an all_reduce in which every rank receives the whole tensor of every other rank, and sums.
Steps sum_everywhere(const Tensor& tensor, int rank) {
  // A copy is sent, because the sum may be written to `tensor` before all ranks have read this rank's input.
  return {.input_for = [input = tensor.clone()](int) { return input; },
          .elements_from = [elements = tensor.elements()](int) { return elements; },
          .combine = sum_of(tensor, tensor, rank)};
}

/// The steps of an all_reduce in which every rank sums one slice over all ranks, then sends the summed slice to all
/// other ranks.
Steps sum_slices(const Tensor& tensor, int rank, int ranks) {
  const auto slice = [tensor, ranks](int of) { return part_of(tensor, slice_of(tensor.elements(), ranks, of)); };
  const auto local_slice = slice(rank);
  return {.input_for = slice,
          .elements_from = [elements = local_slice.elements()](int) { return elements; },
          .combine = sum_of(local_slice, local_slice, rank),
          .result_of = slice};
}

/// The steps of a reduce_scatter: every rank sends to each other rank the part that the other rank sums.
template <class PartFor>
Steps sum_parts(const PartFor& part_for, const Tensor& output, int rank) {
  return {.input_for = part_for,
          .elements_from = [elements = output.elements()](int) { return elements; },
          .combine = sum_of(part_for(rank), output, rank)};
}

/// The steps of a broadcast or a scatter: the root sends `part_for(rank)` to every rank, which copies it to `place`.
/// The other ranks send empty parts. The root of a broadcast copies nothing.
template <class PartFor>
Steps copy_from_root(const PartFor& part_for, const Tensor& place, int rank, const CallSignature& call) {
  const auto root = call.root;
  Steps steps;
  steps.input_for = [part_for, is_root = root == rank](int to) {
    return is_root ? part_for(to) : Frame::empty_payload();
  };
  steps.elements_from = [elements = place.elements(), root](int from) { return from == root ? elements : 0; };
  const bool is_in_place = root == rank && form_of(call.kind).output == OutputSize::in_place;
  if (!is_in_place)
    steps.combine = [part_for, place, rank, root](const Slice& chunk, const Inputs& inputs) {
      if (rank == root)
        linked::copy(part_of(part_for(rank), chunk), part_of(place, chunk));
      else if (inputs[root] != nullptr)
        linked::read(*inputs[root], part_of(place, chunk));
    };
  return steps;
}

/// The steps of an all_gather: every rank sends its input to all others, and copies all inputs to `output` in rank
/// order.
Steps copy_all(const Tensor& input, const Tensor& output, int rank) {
  const auto place_in_output = [input, output, rank](const Slice& chunk, const Inputs& inputs) {
    for (int from = 0; from < static_cast<int>(inputs.size()); ++from) {
      const auto place = part_of(output, {from * input.elements() + chunk.first, chunk.count});
      if (from == rank)
        linked::copy(part_of(input, chunk), place);
      else
        linked::read(*inputs[from], place);
    }
  };
  return {.input_for = [input](int) { return input; },
          .elements_from = [elements = input.elements()](int) { return elements; },
          .combine = place_in_output};
}

Steps steps_of(const CallSignature& call, const Part& part, int rank, int ranks) {
  const auto whole = [input = part.input](int) { return input; };
  const auto part_for = [input = part.input, count = call.elements / ranks](int of) {
    return part_of(input, {count * of, count});
  };
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return part.input.bytes() <= kSmallBytes ? sum_everywhere(part.input, rank) : sum_slices(part.input, rank, ranks);
    case CollectiveKind::broadcast:
      return copy_from_root(whole, part.input, rank, call);
    case CollectiveKind::all_gather:
      return copy_all(part.input, part.output, rank);
    case CollectiveKind::reduce_scatter:
      return sum_parts(part_for, part.output, rank);
    case CollectiveKind::barrier:
      return {.input_for = [](int) { return Frame::empty_payload(); }, .elements_from = [](int) { return 0; }};
    case CollectiveKind::scatter:
      return copy_from_root(part_for, part.output, rank, call);
  }
  return {};
}

class LinkedCommunicator final : public Communicator {
 public:
  LinkedCommunicator(std::shared_ptr<RankState> state, std::vector<std::shared_ptr<Link>> links, bool ring)
      : state_(std::move(state)), links_(std::move(links)), local_{DeviceRank{state_->rank()}}, ring_(ring) {
    for (const auto& link : links_)
      if (link)
        link->on_ready([weak = std::weak_ptr(state_)] {
          if (const auto alive = weak.lock()) alive->notify();
        });
  }
  ~LinkedCommunicator() override {
    for (const auto& link : links_)
      if (link) {
        link->on_ready({});
        link->close();
      }
  }

  int size() const override { return state_->ranks(); }
  const std::vector<DeviceRank>& local() const override { return local_; }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    const auto& part = only_part(parts);
    const auto signature = signature_of(kind, part.input, part.output, rank(), size(), root);
    state_->check_next();
    if (ring_ && kind == CollectiveKind::all_reduce && part.input.bytes() > kSmallBytes)
      return linked::begin_ring(state_, signature, part.input);
    return linked::begin_linked(state_, signature, steps_of(signature, part, rank(), size()));
  }

  std::shared_ptr<Work> send(const Tensor& tensor, int to, OnProgress) override {
    expect_rank(to, size());
    const auto lock = state_->lock();
    state_->check();
    // A copy is sent, so that the caller may write to its tensor at once.
    state_->send(to, {{FrameType::collective_send}, tensor.clone()});
    return std::make_shared<CompletedWork>();
  }

  std::shared_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    expect_rank(from, size());
    auto work = std::make_shared<ReceiveWork<RankState>>(state_, tensor, from, rank());
    work->listen(0, std::move(on_progress));
    return work;
  }

  void abort(FailurePtr failure) override {
    state_->abort(failure);
    state_->notify();
  }

  void leave(FailurePtr failure) override { state_->leave(failure); }

 private:
  std::shared_ptr<RankState> state_;
  std::vector<std::shared_ptr<Link>> links_;
  const std::vector<DeviceRank> local_;
  const bool ring_;
};

std::shared_ptr<Communicator> join_ranks(int rank, std::vector<std::shared_ptr<Link>> links, bool ring) {
  const auto ranks = static_cast<int>(links.size());
  expect_rank(rank, ranks);
  for (int other = 0; other < ranks; ++other)
    if ((links[other] == nullptr) != (other == rank))
      throw Error("communicator", "rank " + std::to_string(rank) + " needs a link to every rank except itself");
  return std::make_shared<LinkedCommunicator>(std::make_shared<RankState>(rank, links), links, ring);
}

}  // namespace

std::shared_ptr<Communicator> make_linked_communicator(int rank, std::vector<std::shared_ptr<Link>> links) {
  return join_ranks(rank, std::move(links), false);
}

std::shared_ptr<Communicator> make_ring_communicator(int rank, std::vector<std::shared_ptr<Link>> links) {
  return join_ranks(rank, std::move(links), true);
}

}  // namespace troupe
