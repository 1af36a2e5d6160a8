#include "troupe/actors/shard/shard_event.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

Tensor ShardEvent::encode(int workers_of_all) const {
  const Tensor tensor(info(workers_of_all).shape, DType::int32);
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
  const bool known = event.kind == Kind::update ||
                     ((event.kind == Kind::answer || event.kind == Kind::drop) && event.workers.size() == 1);
  if (!known || event.workers.empty()) throw Error("shard", "what the leading shard sent is no event");
  return event;
}

}  // namespace troupe
