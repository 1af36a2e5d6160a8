#include "troupe/ops/core/error.hpp"
#include "troupe/transport/hierarchy/hierarchical_group.hpp"

namespace troupe::device {

namespace {

using hierarchy::Stages;

/// Work that is complete when an event of a device is done. advance() rethrows the error of the work that the device
/// did before the event.
class EventWork final : public Work {
 public:
  explicit EventWork(Event event) : event_(std::move(event)) {}

  bool advance(std::size_t /*local*/) override {
    if (!event_.done()) return false;
    if (const auto error = event_.error()) std::rethrow_exception(error);
    return true;
  }
  std::string waits_for(std::size_t /*local*/) const override {
    return "the devices of this process have not come so far";
  }
  void listen(std::size_t /*local*/, ProgressListener listener) override {
    event_.notify([listener = std::move(listener)] { listener(); });
  }

 private:
  Event event_;
};

void launch_copy(Stream& stream, const Tensor& from, const Tensor& to) {
  if (from.bytes() > 0) stream.copy(to.address(), from.address(), from.bytes());
}

/// Returns a view of `count` bytes of a tensor, from byte `first` on, as a uint8 tensor.
Tensor bytes_of(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  return tensor.view(Shape{count}, DType::uint8, static_cast<std::size_t>(first));
}

}  // namespace

Stages HierarchicalGroup::stages_of(const CallSignature& call, const Staged& staged) {
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return sum_stages(call, staged);
    case CollectiveKind::broadcast:
      return broadcast_stages(call, staged);
    case CollectiveKind::all_gather:
      return gather_stages(call, staged);
    case CollectiveKind::reduce_scatter:
      return in_scratch(call, staged, sum_stages(call, staged));
    case CollectiveKind::barrier:
      break;
    case CollectiveKind::scatter:
      return in_scratch(call, staged, broadcast_stages(call, staged));
  }
  return {};
}

Stages HierarchicalGroup::sum_stages(const CallSignature& call, const Staged& staged) {
  Stages stages;
  stages[hierarchy::kInside] = [=, this] { return sum_and_fetch(staged); };
  stages[hierarchy::kAcross] = [=, this] {
    return parts_.across->all_reduce(staged->sent->tensor(call.elements, call.dtype));
  };
  stages[hierarchy::kSpread] = [=, this] { return put_sum(staged); };
  return stages;
}

Stages HierarchicalGroup::broadcast_stages(const CallSignature& call, const Staged& staged) {
  const bool sends = layout_.outer(call.root) == outer_;
  Stages stages;
  if (sends) stages[hierarchy::kInside] = [=, this] { return pass_on_and_fetch(staged, layout_.inner(call.root)); };
  stages[hierarchy::kAcross] = [=, this] {
    if (!sends) staged->sent = buffers_.take(staged->in_place[0].input.bytes());
    return parts_.across->broadcast(staged->sent->tensor(call.elements, call.dtype), layout_.outer(call.root));
  };
  stages[hierarchy::kSpread] = [=, this] { return sends ? launched(staged) : put_sum(staged); };
  return stages;
}

Stages HierarchicalGroup::gather_stages(const CallSignature& call, const Staged& staged) {
  // Every process sends as many bytes as the process with the most ranks, because all inputs of an all_gather must have
  // the same size.
  const auto sent = call.elements * static_cast<std::int64_t>(size_of(call.dtype)) * layout_.most_ranks();
  Stages stages;
  stages[hierarchy::kInside] = [=, this] { return fetch_all(staged); };
  stages[hierarchy::kAcross] = [=, this] {
    const auto received = sent * layout_.outer_count();
    staged->received = buffers_.take(static_cast<std::size_t>(received));
    return parts_.across->all_gather(staged->sent->tensor(sent, DType::uint8),
                                     staged->received->tensor(received, DType::uint8));
  };
  stages[hierarchy::kSpread] = [=, this] { return put_all(staged); };
  return stages;
}

Stages HierarchicalGroup::in_scratch(const CallSignature& call, const Staged& staged, Stages in_place) {
  auto stages = std::move(in_place);
  stages[hierarchy::kInside] = [=, this, first = std::move(stages[hierarchy::kInside])]() -> std::shared_ptr<Work> {
    copy_to_scratch(call, staged);
    return first ? first() : std::make_shared<CompletedWork>();
  };
  return stages;
}

std::shared_ptr<Work> HierarchicalGroup::sum_and_fetch(const Staged& staged) {
  const auto work = (parts_.machine ? parts_.machine : parts_.inside)->all_reduce(staged->in_place);
  note_launched(staged, *work);
  const bool is_fetched_elsewhere = parts_.machine && parts_.machine->local().front().rank > 0;
  if (!is_fetched_elsewhere) return fetch(staged);
  staged->sent = buffers_.take(staged->in_place[0].input.bytes());
  return std::make_shared<CompletedWork>();
}

std::shared_ptr<Work> HierarchicalGroup::pass_on_and_fetch(const Staged& staged, int root) {
  const auto work = parts_.inside->broadcast(staged->in_place, root);
  note_launched(staged, *work);
  auto fetching = fetch(staged);
  staged->done[0] = lanes_[0].down->record();
  return fetching;
}

void HierarchicalGroup::note_launched(const Staged& staged, Work& work) const {
  if (!work.advance()) throw Error("communicator", "a group of devices must not wait for the host");
  for (std::size_t i = 0; i < local_.size(); ++i) staged->done[i] = work.done(i);
}

std::shared_ptr<Work> HierarchicalGroup::fetch(const Staged& staged) {
  const auto& tensor = staged->in_place[0].input;
  staged->sent = buffers_.take(tensor.bytes());
  lanes_[0].down->wait(staged->done[0]);
  launch_copy(*lanes_[0].down, tensor, staged->sent->tensor(tensor.elements(), tensor.dtype()));
  return fetched(staged);
}

std::shared_ptr<Work> HierarchicalGroup::fetched(const Staged& staged) {
  const auto event = lanes_[0].down->record();
  staged->sent->use_until(event);
  return std::make_shared<EventWork>(event);
}

std::shared_ptr<Work> HierarchicalGroup::fetch_all(const Staged& staged) {
  const auto bytes = static_cast<std::int64_t>(staged->parts[0].input.bytes());
  staged->sent = buffers_.take(static_cast<std::size_t>(bytes * layout_.most_ranks()));
  const auto host = staged->sent->tensor(bytes * layout_.most_ranks(), DType::uint8);
  for (std::size_t i = 0; i < local_.size(); ++i) {
    auto& down = *lanes_[i].down;
    down.wait(staged->parts[i].ready);
    launch_copy(down, staged->parts[i].input, bytes_of(host, bytes * static_cast<std::int64_t>(i), bytes));
    if (i > 0) lanes_[0].down->wait(down.record());
  }
  return fetched(staged);
}

std::shared_ptr<Work> HierarchicalGroup::put_sum(const Staged& staged) {
  const auto& tensor = staged->in_place[0].input;
  auto& up = *lanes_[0].up;
  up.wait(staged->done[0]);
  launch_copy(up, staged->sent->tensor(tensor.elements(), tensor.dtype()), tensor);
  pass_on(staged, *staged->sent);
  return launched(staged);
}

std::shared_ptr<Work> HierarchicalGroup::put_all(const Staged& staged) {
  const auto bytes = static_cast<std::int64_t>(staged->parts[0].input.bytes());
  const auto host = staged->received->tensor(bytes * layout_.most_ranks() * layout_.outer_count(), DType::uint8);
  for (std::size_t i = 0; i < local_.size(); ++i) staged->in_place[i].input = staged->parts[i].output;
  auto& up = *lanes_[0].up;
  up.wait(staged->done[0]);
  for (int rank = 0; rank < size(); ++rank) {
    const auto place = layout_.outer(rank) * layout_.most_ranks() + layout_.inner(rank);
    launch_copy(up, bytes_of(host, bytes * place, bytes), bytes_of(staged->in_place[0].input, bytes * rank, bytes));
  }
  pass_on(staged, *staged->received);
  return launched(staged);
}

void HierarchicalGroup::copy_to_scratch(const CallSignature& call, const Staged& staged) {
  for (std::size_t i = 0; i < local_.size(); ++i) {
    auto& part = staged->in_place[i];
    const auto bytes = static_cast<std::size_t>(call.elements) * size_of(call.dtype);
    const auto& buffer = staged->scratch.emplace_back(lanes_[i].scratch.take(bytes));
    const auto scratch = buffer->tensor(call.elements, call.dtype);
    lanes_[i].down->wait(part.ready);
    if (has_input(call.kind, local_[i].rank, call.root)) launch_copy(*lanes_[i].down, part.input, scratch);
    part.input = scratch;
    part.ready = lanes_[i].down->record();
  }
}

void HierarchicalGroup::put_slices(const Staged& staged) {
  for (std::size_t i = 0; i < local_.size(); ++i) {
    const auto& output = staged->parts[i].output;
    auto& up = *lanes_[i].up;
    up.wait(staged->done[i]);
    launch_copy(up, part_of(staged->in_place[i].input, {output.elements() * local_[i].rank, output.elements()}),
                output);
    staged->done[i] = up.record();
    staged->scratch[i]->use_until(staged->done[i]);
  }
}

void HierarchicalGroup::pass_on(const Staged& staged, Buffer& source) {
  for (std::size_t i = 0; i < local_.size(); ++i) staged->in_place[i].ready = staged->done[i];
  staged->in_place[0].ready = lanes_[0].up->record();
  source.use_until(staged->in_place[0].ready);
  const auto work = parts_.inside->broadcast(staged->in_place, 0);
  note_launched(staged, *work);
}

/// Ends the last stage of a collective. If the collective works in scratch memory, launches the copies from there to
/// the outputs. Drops the handles of the caller's tensors, because the caller may check that none is left when the work
/// is complete, and the buffers.
std::shared_ptr<Work> HierarchicalGroup::launched(const Staged& staged) {
  if (!staged->scratch.empty()) put_slices(staged);
  staged->parts.clear();
  staged->in_place.clear();
  staged->sent = staged->received = nullptr;
  staged->scratch.clear();
  staged->is_launched = true;
  return std::make_shared<CompletedWork>();
}

}  // namespace troupe::device
