#include "troupe/strategies/step/data_positions.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void DataPositions::add(DataPosition position) {
  const std::lock_guard lock(mutex_);
  if (positions_.size() == kKept) positions_.pop_front();
  positions_.push_back(std::move(position));
}

std::optional<DataPosition> DataPositions::at(std::int64_t epoch, std::int64_t batch) const {
  const std::lock_guard lock(mutex_);
  // The newest one counts, because an epoch may be read again.
  const auto found = std::find_if(positions_.rbegin(), positions_.rend(),
                                  [&](const DataPosition& one) { return one.epoch == epoch && one.batch == batch; });
  return found == positions_.rend() ? std::nullopt : std::optional(*found);
}

}  // namespace troupe
