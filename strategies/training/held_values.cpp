#include "troupe/strategies/training/held_values.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// The rows of a parameter that a process has. Nothing: all.
struct HeldPart {
  int process;
  std::optional<RowRange> rows;
};

/// The processes of the external actors that update each parameter of the first replica.
std::map<std::string, std::vector<HeldPart>> holders_in(const Plan& plan) {
  std::map<std::string, std::vector<HeldPart>> holders;
  for (const auto& actor : plan.actors)
    for (const auto& [ref, written, rows] : actor.parameters)
      if (written && ref.replica == 0) holders[ref.name].push_back({actor.place.process, rows});
  return holders;
}

int rank_of(int process, std::span<const int> processes, const std::string& name) {
  const auto rank = std::ranges::find(processes, process);
  if (rank == processes.end())
    throw Error("trainer", "'" + name + "' is held by process " + std::to_string(process) + ", which may be lost");
  return static_cast<int>(rank - processes.begin());
}

/// Copies the rows of `root` to all ranks.
void spread_part(Communicator& group, int root, const std::optional<RowRange>& rows, ParameterStore::Version& version,
                 std::chrono::milliseconds limit) {
  const auto updates = Tensor::from<std::int64_t>({1}, std::vector{version.updates});
  group.broadcast(updates, root)->wait(limit);
  version.updates = std::max(version.updates, updates.item<std::int64_t>());
  group.broadcast(rows ? version.value.rows(rows->first, rows->count) : version.value, root)->wait(limit);
}

}  // namespace

void spread_held_values(Communicator& group, std::span<const int> processes, const Plan& plan, ParameterStore& store,
                        std::chrono::milliseconds limit) {
  if (group.size() == 1) return;
  for (const auto& [name, parts] : holders_in(plan)) {
    const ParameterRef ref{name, 0};
    const auto parameter = std::ranges::find_if(plan.parameters, [&](const auto& p) { return p.ref == ref; });
    const auto& info = parameter->info;
    auto version = store.newest(name).value_or(ParameterStore::Version{0, Tensor(info.shape, info.dtype)});
    bool has_all = true;
    for (const auto& [process, rows] : parts) {
      const auto root = rank_of(process, processes, name);
      has_all = has_all && group.rank() == root;
      if (group.rank() == root && !store.newest_updates(name))
        throw Error("trainer", "'" + name + "' should be here, but is not, or not whole");
      spread_part(group, root, rows, version, limit);
    }
    if (!has_all) store.adopt(name, version);
  }
}

void join_held_rows(const Stores& stores, const Plan& plan) {
  if (std::ranges::any_of(stores, [](const auto& store) { return !store->broken().empty(); })) return;
  for (const auto& [name, parts] : holders_in(plan)) {
    const auto first = parts.front().process;
    if (std::ranges::all_of(parts, [first](const HeldPart& part) { return part.process == first; })) continue;
    const auto store_of = [&](const HeldPart& part) { return stores.at(static_cast<std::size_t>(part.process)); };
    auto version = *store_of(parts.front())->newest(name);
    for (const auto& part : parts) {
      const auto held = *store_of(part)->newest(name);
      version.updates = std::max(version.updates, held.updates);
      copy_and_wait(held.value.rows(part.rows->first, part.rows->count),
                    version.value.rows(part.rows->first, part.rows->count));
    }
    for (const auto& store : stores) store->adopt(name, version);
  }
}

}  // namespace troupe
