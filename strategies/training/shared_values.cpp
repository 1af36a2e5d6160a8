#include "troupe/strategies/training/shared_values.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/strategies/between_processes.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

constexpr std::size_t kNameLimit = 4'096;

/// The newest values of parameters and optimizer state, by name, with their numbers of updates.
using Versions = std::map<std::string, ParameterStore::Version>;

Versions versions_in(const ParameterStore& store) {
  Versions versions;
  for (const auto& name : store.names())
    if (auto version = store.newest(name)) versions.emplace(name, std::move(*version));
  return versions;
}

/// The positions of trainers, by name.
using Positions = std::map<std::string, TrainingPosition>;

std::array<std::int64_t*, 7> numbers_of(TrainingPosition& position) {
  return {&position.step,       &position.epoch,  &position.batch, &position.rows,
          &position.batch_rows, &position.layout, &position.data};
}

std::int64_t hash_of(const Versions& versions, Positions positions) {
  Hash hash;
  for (const auto& [name, version] : versions) {
    hash.add(name);
    hash.add(version.updates);
    hash.add(to_string(version.value));
    hash.add_bytes(version.value.raw(), version.value.bytes());
  }
  for (auto& [trainer, position] : positions) {
    hash.add(trainer);
    for (const auto* number : numbers_of(position)) hash.add(*number);
  }
  return static_cast<std::int64_t>(hash.digest());
}

/// Encodes the positions, and for each value its name, number of updates, dtype and shape, without its elements.
std::vector<std::byte> list_of(const Versions& versions, Positions positions) {
  ByteWriter writer;
  writer.put(static_cast<std::uint64_t>(positions.size()));
  for (auto& [trainer, position] : positions) {
    writer.put_text(trainer, kNameLimit);
    for (const auto* number : numbers_of(position)) writer.put(*number);
  }
  writer.put(static_cast<std::uint64_t>(versions.size()));
  for (const auto& [name, version] : versions) {
    writer.put_text(name, kNameLimit);
    writer.put(version.updates);
    writer.put(static_cast<std::uint8_t>(version.value.dtype()));
    writer.put(static_cast<std::uint8_t>(version.value.shape().rank()));
    for (const auto size : version.value.shape().sizes()) writer.put(size);
  }
  return std::move(writer).take();
}

Versions read_list(const Tensor& list, Positions& positions) {
  ByteReader reader({list.raw(), list.bytes()}, "values of a rank");
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left)
    for (auto* number : numbers_of(positions[reader.get_text(kNameLimit)])) *number = reader.get<std::int64_t>();
  Versions versions;
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    auto& version = versions[reader.get_text(kNameLimit)];
    version.updates = reader.get<std::int64_t>();
    const auto dtype = static_cast<DType>(reader.get<std::uint8_t>());
    std::vector<std::int64_t> sizes(reader.get<std::uint8_t>());
    for (auto& size : sizes) size = reader.get<std::int64_t>();
    version.value = Tensor(Shape(std::span<const std::int64_t>(sizes)), dtype);
  }
  return versions;
}

/// The newest version of a value that any rank of a group has, and the lowest rank that has it.
struct NewestValue {
  ParameterStore::Version version;  ///< the tensor has memory, but not the elements of the version
  int rank = 0;
};

/// The newest version of every value in a group, and the positions of the lowest rank that has the largest number of
/// updates of any value.
struct NewestValues {
  std::map<std::string, NewestValue> values;
  Positions positions;
};

/// Returns the same result on all ranks, of which each passes its own values and positions.
NewestValues newest_in(Communicator& group, const Versions& own, const Positions& own_positions,
                       std::chrono::milliseconds limit) {
  NewestValues newest;
  std::int64_t most_updates = -1;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto list = rank == group.rank() ? list_of(own, own_positions) : std::vector<std::byte>{};
    Positions positions;
    auto versions = read_list(broadcast_bytes(group, list, rank, limit), positions);
    std::int64_t updates = 0;
    for (auto& [name, version] : versions) {
      updates = std::max(updates, version.updates);
      const auto present = newest.values.find(name);
      if (present == newest.values.end() || present->second.version.updates < version.updates)
        newest.values[name] = {std::move(version), rank};
    }
    if (updates > most_updates) newest.positions = positions;
    most_updates = std::max(most_updates, updates);
  }
  return newest;
}

/// The rows of a parameter that an actor in process `process` updates. Without `rows`: all rows.
struct HeldPart {
  int process;
  std::optional<RowRange> rows;
};

/// Returns, by name, the parameters of replica 0 that actors such as shards hold and update during a run, with the
/// processes and the rows of these actors.
std::map<std::string, std::vector<HeldPart>> holders_in(const Plan& plan) {
  std::map<std::string, std::vector<HeldPart>> holders;
  for (const auto& actor : plan.actors)
    for (const auto& held : actor.parameters)
      if (held.written && held.ref.replica == 0) holders[held.ref.name].push_back({actor.place.process, held.rows});
  return holders;
}

/// Returns, by name, the processes in which ops of a plan update parameters in place. States that every replica has for
/// itself are left out, and expendable processes.
std::map<std::string, std::set<int>> updaters_in(const Plan& plan) {
  std::set<std::string> of_replicas;
  for (const auto& parameter : plan.parameters)
    if (parameter.per_replica) of_replicas.insert(parameter.ref.name);
  std::map<std::string, std::set<int>> updaters;
  for (const auto& actor : plan.actors) {
    if (std::ranges::find(plan.expendable, actor.place.process) != plan.expendable.end()) continue;
    for (const auto& output : actor.outputs)
      if (output.parameter && !of_replicas.contains(output.parameter->name))
        updaters[output.parameter->name].insert(actor.place.process);
  }
  return updaters;
}

int rank_of(int process, std::span<const int> processes, const std::string& name) {
  const auto rank = std::ranges::find(processes, process);
  if (rank == processes.end())
    throw Error("trainer", "'" + name + "' is held by process " + std::to_string(process) + ", which may be lost");
  return static_cast<int>(rank - processes.begin());
}

/// `numbers` has two numbers for each rank; the first is 1 if the store of the rank has broken copies. Throws Error
/// that names the processes with such stores. `broken` is ParameterStore::broken() of this process.
void expect_whole(const std::vector<std::int64_t>& numbers, std::span<const int> processes, const std::string& broken) {
  std::string names;
  for (std::size_t rank = 0; 2 * rank < numbers.size(); ++rank)
    if (numbers[2 * rank] != 0) names += (names.empty() ? "" : ", process ") + std::to_string(processes[rank]);
  if (!broken.empty()) throw Error("store", broken);
  if (!names.empty())
    throw Error("trainer",
                "parameters that a failed run has left half-written must be recovered or set before the next fit, in "
                "process " +
                    names);
}

/// A value that some ranks of a group lack after a run.
struct SpreadValue {
  std::string name;
  TensorInfo info;
  /// The ranks that have rows of the value, with these rows; without rows, the whole value.
  std::vector<std::pair<int, std::optional<RowRange>>> parts;
  std::set<int> ranks_with_all;
};

/// Returns, in the same order on all ranks, the values that actors or ops of `plan` have updated in some processes
/// only.
std::vector<SpreadValue> values_to_spread(const Plan& plan, std::span<const int> processes) {
  std::vector<SpreadValue> values;
  const auto add = [&](const std::string& name) -> SpreadValue& {
    const auto parameter = std::ranges::find_if(plan.parameters, [&](const auto& p) { return p.ref.name == name; });
    return values.emplace_back(SpreadValue{name, parameter->info, {}, {}});
  };
  for (const auto& [name, held] : holders_in(plan)) {
    auto& value = add(name);
    for (const auto& [process, rows] : held) value.parts.emplace_back(rank_of(process, processes, name), rows);
    const auto first = value.parts.front().first;
    if (std::ranges::all_of(value.parts, [first](const auto& part) { return part.first == first; }))
      value.ranks_with_all.insert(first);
  }
  for (const auto& [name, updaters] : updaters_in(plan)) {
    if (std::ranges::all_of(processes, [&all = updaters](int process) { return all.contains(process); })) continue;
    auto& value = add(name);
    for (const auto process : updaters) value.ranks_with_all.insert(rank_of(process, processes, name));
    value.parts.emplace_back(*value.ranks_with_all.begin(), std::nullopt);
  }
  return values;
}

/// Throws Error on all ranks, with the name of the first value and its process, if the rank that must send a value does
/// not have it, or has a broken copy.
void expect_held(Communicator& group, std::span<const int> processes, const std::vector<SpreadValue>& values,
                 const ParameterStore& store, std::chrono::milliseconds limit) {
  const auto is_missing = [&](const SpreadValue& value) {
    const auto sends = [&](const auto& part) { return part.first == group.rank(); };
    return std::ranges::any_of(value.parts, sends) && !store.newest_updates(value.name);
  };
  const auto missing = std::ranges::find_if(values, is_missing) - values.begin();
  const auto first_missing = gathered_numbers(group, {missing}, limit);
  const auto rank = std::ranges::min_element(first_missing) - first_missing.begin();
  const auto index = static_cast<std::size_t>(first_missing[static_cast<std::size_t>(rank)]);
  if (index == values.size()) return;
  throw Error("trainer", "'" + values[index].name + "' should be in process " +
                             std::to_string(processes[static_cast<std::size_t>(rank)]) +
                             ", but is not, or is half-written");
}

/// Copies the rows of `version` from rank `root` to all ranks; without `rows`, all rows. Raises the number of updates
/// of `version` to that of the root if it is lower.
void spread_part(Communicator& group, int root, const std::optional<RowRange>& rows, ParameterStore::Version& version,
                 std::chrono::milliseconds limit) {
  const auto updates = Tensor::from<std::int64_t>({1}, std::vector{version.updates});
  group.broadcast(updates, root)->wait(limit);
  version.updates = std::max(version.updates, updates.item<std::int64_t>());
  group.broadcast(rows ? version.value.rows(rows->first, rows->count) : version.value, root)->wait(limit);
}

}  // namespace

void adopt_newest_values(Communicator& group, std::span<const int> processes, ParameterStore& store,
                         std::chrono::milliseconds limit) {
  const auto broken = store.broken();
  const auto versions = broken.empty() ? versions_in(store) : Versions{};
  const auto numbers = gathered_numbers(group, {broken.empty() ? 0 : 1, hash_of(versions, store.positions())}, limit);
  expect_whole(numbers, processes, broken);
  bool equal = true;
  for (std::size_t i = 3; i < numbers.size(); i += 2) equal = equal && numbers[i] == numbers[1];
  if (equal) return;
  auto newest = newest_in(group, versions, store.positions(), limit);
  ParameterStore::NamedVersions newer;
  for (auto& [name, value] : newest.values) {
    if (value.rank == group.rank()) value.version = versions.at(name);
    group.broadcast(value.version.value, value.rank)->wait(limit);
    if (value.rank != group.rank()) newer.emplace_back(name, value.version);
  }
  if (!newer.empty()) store.adopt(newer);
  for (const auto& [trainer, position] : newest.positions) store.set_position(position, trainer);
}

void spread_held_values(Communicator& group, std::span<const int> processes, const Plan& plan, ParameterStore& store,
                        std::chrono::milliseconds limit) {
  if (group.size() == 1) return;
  const auto values = values_to_spread(plan, processes);
  if (values.empty()) return;
  expect_held(group, processes, values, store, limit);
  ParameterStore::NamedVersions newer;
  for (const auto& value : values) {
    auto version =
        store.newest(value.name).value_or(ParameterStore::Version{0, Tensor(value.info.shape, value.info.dtype)});
    for (const auto& [root, rows] : value.parts) spread_part(group, root, rows, version, limit);
    if (!value.ranks_with_all.contains(group.rank())) newer.emplace_back(value.name, std::move(version));
  }
  if (!newer.empty()) store.adopt(newer);
}

void join_held_rows(const Stores& stores, const Plan& plan) {
  if (std::ranges::any_of(stores, [](const auto& store) { return !store->broken().empty(); })) return;
  ParameterStore::NamedVersions joined;
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
    joined.emplace_back(name, std::move(version));
  }
  if (joined.empty()) return;
  for (const auto& store : stores) store->adopt(joined);
}

}  // namespace troupe
