#include "troupe/strategies/training/torn_groups.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/between_processes.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

using NumbersByGroup = std::map<Lease::Group, std::set<std::int64_t>>;

std::vector<std::byte> encode(const Lease::UpdatesByGroup& updates) {
  ByteWriter writer;
  for (const auto& [group, of_group] : updates)
    for (const auto number : of_group.numbers) {
      writer.put(static_cast<std::int32_t>(group.replica));
      writer.put(static_cast<std::uint8_t>(group.held));
      writer.put(number);
    }
  return std::move(writer).take();
}

void add_encoded(const Tensor& bytes, NumbersByGroup& numbers) {
  ByteReader reader({bytes.raw(), bytes.bytes()}, "updates of a rank");
  while (!reader.at_end()) {
    const int replica = reader.get<std::int32_t>();
    const bool held = reader.get<std::uint8_t>() != 0;
    numbers[{replica, held}].insert(reader.get<std::int64_t>());
  }
}

}  // namespace

void break_torn_groups(Communicator& processes, const Lease::UpdatesByGroup& updates, ParameterStore& store,
                       const std::string& reason, std::chrono::milliseconds limit) {
  NumbersByGroup numbers;
  const auto own = encode(updates);
  for (int rank = 0; rank < processes.size(); ++rank)
    add_encoded(broadcast_bytes(processes, own, rank, limit), numbers);
  bool torn = false;
  for (const auto& [group, of_group] : numbers) {
    if (of_group.size() <= 1) continue;
    torn = true;
    if (const auto own_group = updates.find(group); own_group != updates.end())
      store.break_copies(own_group->second.copies, reason);
  }
  if (torn) throw Error("trainer", "processes have made different numbers of updates: " + reason);
}

}  // namespace troupe
