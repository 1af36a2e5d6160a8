#include "troupe/actors/shard/shard_event.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

Tensor ShardEvent::encode(int all_workers) const {
  const Tensor tensor(info(all_workers).shape, DType::int32);
  const auto numbers = tensor.mutable_data<std::int32_t>();
  std::ranges::fill(numbers, 0);
  numbers[0] = static_cast<std::int32_t>(kind);
  for (const int worker : workers) numbers[static_cast<std::size_t>(worker) + 1] = 1;
  return tensor;
}

ShardEvent ShardEvent::decode(const Tensor& tensor) {
  const auto numbers = tensor.data<std::int32_t>();
  ShardEvent event{static_cast<Kind>(numbers[0])};
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] != 0) event.workers.push_back(static_cast<int>(i) - 1);
  if (!event.is_whole()) throw Error("shard", "the leading shard sent a tensor that is no event");
  return event;
}

bool ShardEvent::is_whole() const {
  if (kind == Kind::update) return !workers.empty();
  return (kind == Kind::answer || kind == Kind::drop) && workers.size() == 1;
}

std::vector<std::int32_t> ShardEvent::numbers() const {
  std::vector<std::int32_t> numbers{static_cast<std::int32_t>(kind), static_cast<std::int32_t>(workers.size())};
  numbers.insert(numbers.end(), workers.begin(), workers.end());
  return numbers;
}

std::vector<ShardEvent> ShardEvent::from_numbers(std::span<const std::int32_t> numbers) {
  std::vector<ShardEvent> events;
  while (!numbers.empty()) {
    const auto count = numbers.size() > 1 ? static_cast<std::size_t>(std::max(numbers[1], 0)) : 0;
    if (numbers.size() < 2 + count) throw Error("replay", "the recording ends within an event");
    const auto workers = numbers.subspan(2, count);
    events.push_back({static_cast<Kind>(numbers[0]), {workers.begin(), workers.end()}});
    if (!events.back().is_whole()) throw Error("replay", "the recording has an event of an unknown kind");
    numbers = numbers.subspan(2 + count);
  }
  return events;
}

}  // namespace troupe
