#include "troupe/strategies/between_processes.hpp"

#include <algorithm>

namespace troupe {

std::vector<std::int64_t> gathered_numbers(Communicator& processes, const std::vector<std::int64_t>& numbers,
                                           std::chrono::milliseconds limit) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  const Tensor all(Shape{processes.size() * count}, DType::int64);
  processes.all_gather(Tensor::from<std::int64_t>({count}, numbers), all)->wait(limit);
  const auto gathered = all.data<std::int64_t>();
  return {gathered.begin(), gathered.end()};
}

Tensor broadcast_bytes(Communicator& processes, std::span<const std::byte> bytes, int root,
                       std::chrono::milliseconds limit) {
  const auto length = Tensor::from<std::int64_t>({1}, std::vector{static_cast<std::int64_t>(bytes.size())});
  processes.broadcast(length, root)->wait(limit);
  Tensor all(Shape{length.item<std::int64_t>()}, DType::uint8);
  if (processes.rank() == root) std::ranges::copy(bytes, all.mutable_raw());
  processes.broadcast(all, root)->wait(limit);
  return all;
}

}  // namespace troupe
