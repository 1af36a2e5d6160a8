#include "troupe/transport/device/device_group.hpp"

#include <algorithm>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/transport/device/launched_work.hpp"

namespace troupe::device {

Member::Member(Device device) : device_(device), stream_(backend_of(device).make_stream(device)), sum_(device) {}

void Member::sum(Communicator::Parts parts, const Slice& slice, const Tensor& output) {
  if (slice.count == 0) return;
  const auto bytes = static_cast<std::size_t>(slice.count) * size_of(output.dtype());
  const auto place = (bytes + 63) / 64 * 64;
  const auto wanted = static_cast<std::int64_t>(place * (parts.size() - ranks_.size()));
  if (wanted > 0 && (!staging_ || staging_.elements() < wanted))
    staging_ = Tensor(Shape{wanted}, DType::uint8, device_);
  std::vector<Tensor> inputs;
  std::size_t staged = 0;
  for (const auto& part : parts) {
    inputs.push_back(part_of(part.input, slice));
    if (part.input.device() == device_) continue;
    const auto here = staging_.view(Shape{slice.count}, output.dtype(), place * staged++);
    copy(inputs.back(), here);
    inputs.back() = here;
  }
  sum_.launch(*stream_, inputs, output);
}

void Member::copy(const Tensor& from, const Tensor& to) {
  if (from.bytes() > 0 && from.address() != to.address()) stream_->copy(to.address(), from.address(), from.bytes());
}

void Member::wait(const std::vector<Event>& events) {
  for (const auto& event : events) stream_->wait(event);
}

DeviceGroup::DeviceGroup(const std::vector<Device>& devices, const DeviceGroupOptions& options)
    : watch_(options.limit, {}) {
  if (devices.empty()) throw Error("communicator", "a group needs at least one rank, not 0");
  for (const auto& device : devices) {
    if (device.type != devices[0].type)
      throw Error("communicator", to_string(devices[0]) + " and " + to_string(device) + " cannot be one group");
    const auto known = std::ranges::find(members_, device, [](const auto& member) { return member->device(); });
    member_of_.push_back(static_cast<std::size_t>(known - members_.begin()));
    if (known == members_.end()) members_.push_back(std::make_unique<Member>(device));
    members_[member_of_.back()]->ranks().push_back(local_.size());
    local_.push_back({static_cast<int>(local_.size()), device});
  }
}

std::shared_ptr<Work> DeviceGroup::begin(CollectiveKind kind, Parts parts, int root) {
  std::lock_guard lock(mutex_);
  watch_.check();
  try {
    const auto signature = check_parts(kind, parts, local_, size(), root);
    auto ready = ready_events(parts);
    for (const auto& member : members_) member->wait(ready);
    launch(signature, parts);
    const auto work =
        std::make_shared<LaunchedWork>(to_string(signature) + " (collective " + std::to_string(number_++) + ")", local_,
                                       std::move(ready), all_done(), size());
    watch_.add(work);
    return work;
  } catch (...) {
    watch_.fail(current_failure({}));
    throw;
  }
}

void DeviceGroup::launch(const CallSignature& call, Parts parts) {
  const auto ranks = static_cast<int>(parts.size());
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      launch_sums(parts, call.elements);
      launch_copies(parts, call.elements);
      break;
    case CollectiveKind::broadcast:
      for (int rank = 0; rank < ranks; ++rank) member_of(rank).copy(parts[call.root].input, parts[rank].input);
      break;
    case CollectiveKind::all_gather:
      for (int rank = 0; rank < ranks; ++rank)
        for (int from = 0; from < ranks; ++from)
          member_of(rank).copy(parts[from].input, part_of(parts[rank].output, {call.elements * from, call.elements}));
      break;
    case CollectiveKind::reduce_scatter:
      for (int rank = 0; rank < ranks; ++rank) {
        const auto count = call.elements / ranks;
        member_of(rank).sum(parts, {count * rank, count}, part_of(parts[rank].output, {0, count}));
      }
      break;
    case CollectiveKind::barrier:
      break;
    case CollectiveKind::scatter:
      for (int rank = 0; rank < ranks; ++rank) {
        const auto count = call.elements / ranks;
        member_of(rank).copy(part_of(parts[call.root].input, {count * rank, count}), parts[rank].output);
      }
      break;
  }
}

void DeviceGroup::launch_sums(Parts parts, std::int64_t elements) {
  const auto count = static_cast<int>(members_.size());
  std::vector<Event> summed;
  for (int i = 0; i < count; ++i) {
    auto& member = *members_[i];
    const auto slice = slice_of(elements, count, i);
    member.sum(parts, slice, part_of(parts[member.ranks().front()].input, slice));
    if (count > 1) summed.push_back(member.stream().record());
  }
  for (const auto& member : members_) member->wait(summed);
}

void DeviceGroup::launch_copies(Parts parts, std::int64_t elements) {
  const auto count = static_cast<int>(members_.size());
  for (const auto& member : members_) {
    const auto& first = parts[member->ranks().front()].input;
    for (int i = 0; i < count; ++i) {
      const auto slice = slice_of(elements, count, i);
      member->copy(part_of(parts[members_[i]->ranks().front()].input, slice), part_of(first, slice));
    }
    for (const auto rank : member->ranks()) member->copy(first, parts[rank].input);
  }
}

std::vector<Event> DeviceGroup::all_done() {
  const auto record = [&] {
    std::vector<Event> events;
    for (const auto& member : members_) events.push_back(member->stream().record());
    return events;
  };
  auto events = record();
  if (members_.size() > 1) {
    for (const auto& member : members_) member->wait(events);
    events = record();
  }
  std::vector<Event> by_rank;
  for (const auto member : member_of_) by_rank.push_back(events[member]);
  return by_rank;
}

}  // namespace troupe::device

namespace troupe {

std::shared_ptr<Communicator> make_device_group(const std::vector<Device>& devices, const DeviceGroupOptions& options) {
  return std::make_shared<device::DeviceGroup>(devices, options);
}

}  // namespace troupe
