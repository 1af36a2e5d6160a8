#include "troupe/ops/core/error.hpp"
#include "troupe/transport/hierarchy/hierarchical_group.hpp"

namespace troupe::device {

namespace {

using hierarchy::Stages;

/// Complete when a device has come to a point in its work.
class EventWork final : public Work {
 public:
  EventWork(Event event, const ProgressListener& progress) : event_(std::move(event)) {
    if (progress) event_.notify([progress] { progress(); });
  }

  bool advance() override {
    if (!event_.done()) return false;
    if (const auto error = event_.error()) std::rethrow_exception(error);
    return true;
  }
  std::string waits_for() const override { return "the devices of this process have not come so far"; }

 private:
  Event event_;
};

void launch_copy(Stream& stream, const Tensor& from, const Tensor& to) {
  if (from.bytes() > 0) stream.copy(to.address(), from.address(), from.bytes());
}

/// Bytes of a tensor, as a tensor.
Tensor bytes_of(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  return tensor.view(Shape{count}, DType::uint8, static_cast<std::size_t>(first));
}

void expect_launched(DeviceWork& work) {
  if (!work.advance()) throw Error("communicator", "a group of devices must not wait for the host");
}

}  // namespace

std::shared_ptr<DeviceWork> HierarchicalGroup::all_reduce(Parts parts) {
  return begin(CollectiveKind::all_reduce, parts, 0,
               [this](const CallSignature& call, const Staged& staged, const ProgressListener& progress) {
                 return sum_stages(call, staged, progress);
               });
}

std::shared_ptr<DeviceWork> HierarchicalGroup::reduce_scatter(Parts parts) {
  const auto make_stages = [this](const CallSignature& call, const Staged& staged, const ProgressListener& progress) {
    auto stages = sum_stages(call, staged, progress);
    stages[0] = [=, this, sum = std::move(stages[0])] {
      copy_to_scratch(staged);
      return sum();
    };
    stages[2] = [=, this] {
      put_slices(staged);
      return launched(staged);
    };
    return stages;
  };
  return begin(CollectiveKind::reduce_scatter, parts, 0, make_stages);
}

std::shared_ptr<DeviceWork> HierarchicalGroup::broadcast(Parts parts, int root) {
  const auto make_stages = [this, root](const CallSignature& call, const Staged& staged,
                                        const ProgressListener& progress) -> Stages {
    const bool sends = layout_.outer(root) == outer_;
    Stages stages;
    if (sends) stages[0] = [=, this] { return pass_on_and_fetch(staged, layout_.inner(root), progress); };
    stages[1] = [=, this] {
      if (!sends) staged->sent = buffers_.take(staged->parts[0].input.bytes());
      return parts_.across->broadcast(staged->sent->tensor(call.elements, call.dtype), layout_.outer(root), progress);
    };
    stages[2] = [=, this] {
      if (!sends) put_sum(staged);
      return launched(staged);
    };
    return stages;
  };
  return begin(CollectiveKind::broadcast, parts, root, make_stages);
}

std::shared_ptr<DeviceWork> HierarchicalGroup::all_gather(Parts parts) {
  const auto make_stages = [this](const CallSignature& call, const Staged& staged,
                                  const ProgressListener& progress) -> Stages {
    // Processes that have fewer ranks than others send as much.
    const auto sent = call.elements * static_cast<std::int64_t>(size_of(call.dtype)) * layout_.most_ranks();
    return {[=, this] { return fetch_all(staged, progress); },
            [=, this] {
              const auto received = sent * layout_.processes();
              staged->received = buffers_.take(static_cast<std::size_t>(received));
              return parts_.across->all_gather(staged->sent->tensor(sent, DType::uint8),
                                               staged->received->tensor(received, DType::uint8), progress);
            },
            [=, this] {
              put_all(staged);
              return launched(staged);
            }};
  };
  return begin(CollectiveKind::all_gather, parts, 0, make_stages);
}

Stages HierarchicalGroup::sum_stages(const CallSignature& call, const Staged& staged,
                                     const ProgressListener& progress) {
  return {[=, this] { return sum_and_fetch(staged, progress); },
          [=, this] { return parts_.across->all_reduce(staged->sent->tensor(call.elements, call.dtype), progress); },
          [=, this] {
            put_sum(staged);
            return launched(staged);
          }};
}

std::unique_ptr<Work> HierarchicalGroup::sum_and_fetch(const Staged& staged, const ProgressListener& progress) {
  const auto work = (parts_.machine ? parts_.machine : parts_.inside)->all_reduce(staged->in_place);
  expect_launched(*work);
  for (std::size_t i = 0; i < local_.size(); ++i) staged->done[i] = work->done(i);
  const bool is_fetched_elsewhere = parts_.machine && parts_.machine->local().front().rank > 0;
  if (!is_fetched_elsewhere) return fetch(staged, progress);
  staged->sent = buffers_.take(staged->in_place[0].input.bytes());
  return std::make_unique<CompletedWork>();
}

std::unique_ptr<Work> HierarchicalGroup::pass_on_and_fetch(const Staged& staged, int root,
                                                           const ProgressListener& progress) {
  const auto work = parts_.inside->broadcast(staged->in_place, root);
  expect_launched(*work);
  for (std::size_t i = 0; i < local_.size(); ++i) staged->done[i] = work->done(i);
  auto fetching = fetch(staged, progress);
  staged->done[0] = lanes_[0].down->record();
  return fetching;
}

std::unique_ptr<Work> HierarchicalGroup::fetch(const Staged& staged, const ProgressListener& progress) {
  const auto& tensor = staged->in_place[0].input;
  staged->sent = buffers_.take(tensor.bytes());
  lanes_[0].down->wait(staged->done[0]);
  launch_copy(*lanes_[0].down, tensor, staged->sent->tensor(tensor.elements(), tensor.dtype()));
  return fetched(staged, progress);
}

std::unique_ptr<Work> HierarchicalGroup::fetched(const Staged& staged, const ProgressListener& progress) {
  const auto event = lanes_[0].down->record();
  staged->sent->use_until(event);
  return std::make_unique<EventWork>(event, progress);
}

std::unique_ptr<Work> HierarchicalGroup::fetch_all(const Staged& staged, const ProgressListener& progress) {
  const auto bytes = static_cast<std::int64_t>(staged->parts[0].input.bytes());
  staged->sent = buffers_.take(static_cast<std::size_t>(bytes * layout_.most_ranks()));
  const auto host = staged->sent->tensor(bytes * layout_.most_ranks(), DType::uint8);
  for (std::size_t i = 0; i < local_.size(); ++i) {
    auto& down = *lanes_[i].down;
    down.wait(staged->parts[i].ready);
    launch_copy(down, staged->parts[i].input, bytes_of(host, bytes * static_cast<std::int64_t>(i), bytes));
    if (i > 0) lanes_[0].down->wait(down.record());
  }
  return fetched(staged, progress);
}

void HierarchicalGroup::put_sum(const Staged& staged) {
  const auto& tensor = staged->in_place[0].input;
  auto& up = *lanes_[0].up;
  up.wait(staged->done[0]);
  launch_copy(up, staged->sent->tensor(tensor.elements(), tensor.dtype()), tensor);
  const auto put = up.record();
  staged->sent->use_until(put);
  pass_on(staged, put);
}

void HierarchicalGroup::put_all(const Staged& staged) {
  const auto bytes = static_cast<std::int64_t>(staged->parts[0].input.bytes());
  const auto host = staged->received->tensor(bytes * layout_.most_ranks() * layout_.processes(), DType::uint8);
  for (std::size_t i = 0; i < local_.size(); ++i) staged->in_place[i].input = staged->parts[i].output;
  auto& up = *lanes_[0].up;
  up.wait(staged->done[0]);
  for (int rank = 0; rank < size(); ++rank) {
    const auto place = layout_.outer(rank) * layout_.most_ranks() + layout_.inner(rank);
    launch_copy(up, bytes_of(host, bytes * place, bytes), bytes_of(staged->in_place[0].input, bytes * rank, bytes));
  }
  const auto put = up.record();
  staged->received->use_until(put);
  pass_on(staged, put);
}

void HierarchicalGroup::copy_to_scratch(const Staged& staged) {
  for (std::size_t i = 0; i < local_.size(); ++i) {
    auto& part = staged->in_place[i];
    const auto& buffer = staged->scratch.emplace_back(lanes_[i].scratch.take(part.input.bytes()));
    const auto scratch = buffer->tensor(part.input.elements(), part.input.dtype());
    lanes_[i].down->wait(part.ready);
    launch_copy(*lanes_[i].down, part.input, scratch);
    part.input = scratch;
    part.ready = lanes_[i].down->record();
  }
}

void HierarchicalGroup::put_slices(const Staged& staged) {
  put_sum(staged);
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

void HierarchicalGroup::pass_on(const Staged& staged, Event first_is_ready) {
  for (std::size_t i = 0; i < local_.size(); ++i) staged->in_place[i].ready = staged->done[i];
  staged->in_place[0].ready = std::move(first_is_ready);
  const auto work = parts_.inside->broadcast(staged->in_place, 0);
  expect_launched(*work);
  for (std::size_t i = 0; i < local_.size(); ++i) staged->done[i] = work->done(i);
}

/// The last stage is over: whoever lent the tensors may count their handles.
std::unique_ptr<Work> HierarchicalGroup::launched(const Staged& staged) {
  staged->parts.clear();
  staged->in_place.clear();
  staged->sent = staged->received = nullptr;
  staged->scratch.clear();
  staged->is_launched = true;
  return std::make_unique<CompletedWork>();
}

}  // namespace troupe::device
