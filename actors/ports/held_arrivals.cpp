#include "troupe/actors/ports/held_arrivals.hpp"

#include <algorithm>

#include "troupe/actors/ports/sent_tensors.hpp"

namespace troupe {

void HeldArrivals::add(std::uint32_t input, const Arrival& arrival) {
  held_.push_back({{input, arrival.slot}, memory_of(arrival.tensor)});
}

std::span<const std::byte> HeldArrivals::sent_memory(std::uint32_t input, const Arrival& arrival) const {
  for (const auto& held : held_)
    if (held.input == input && held.slot == arrival.slot && held.sent) return held.memory;
  return {};
}

bool HeldArrivals::remove(std::uint32_t input, const Arrival& arrival) {
  const auto is_arrival = [&](const Held& held) { return held.input == input && held.slot == arrival.slot; };
  return std::erase_if(held_, is_arrival) > 0;
}

void HeldArrivals::note_sent(const Tensor& sent) {
  if (!sent) return;
  for (auto& held : held_) held.sent |= overlap(memory_of(sent), held.memory);
}

std::vector<HeldArrivals::Origin> HeldArrivals::take_unsent() {
  const auto first = std::partition(held_.begin(), held_.end(), [](const Held& held) { return held.sent; });
  std::vector<Origin> taken(first, held_.end());
  held_.erase(first, held_.end());
  return taken;
}

std::vector<HeldArrivals::Origin> HeldArrivals::take_all() {
  std::vector<Origin> taken(held_.begin(), held_.end());
  held_.clear();
  return taken;
}

}  // namespace troupe
