#include "troupe/strategies/gathered_numbers.hpp"

namespace troupe {

std::vector<std::int64_t> gathered_numbers(Communicator& processes, const std::vector<std::int64_t>& numbers,
                                           std::chrono::milliseconds limit) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  const Tensor all(Shape{processes.size() * count}, DType::int64);
  processes.all_gather(Tensor::from<std::int64_t>({count}, numbers), all)->wait(limit);
  const auto gathered = all.data<std::int64_t>();
  return {gathered.begin(), gathered.end()};
}

}  // namespace troupe
