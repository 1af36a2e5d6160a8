#include "troupe/strategies/training/held_values.hpp"

#include <algorithm>
#include <map>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// By parameter of the first replica, the process of the external actor that updates it.
std::map<std::string, int> holders_in(const Plan& plan) {
  std::map<std::string, int> holders;
  for (const auto& actor : plan.actors)
    for (const auto& [ref, written] : actor.parameters)
      if (written && ref.replica == 0) holders[ref.name] = actor.place.process;
  return holders;
}

ParameterStore::Version version_from(Communicator& group, int root, const std::string& name, const TensorInfo& info,
                                     ParameterStore& store, std::chrono::milliseconds limit) {
  ParameterStore::Version version;
  const bool is_root = group.rank() == root;
  if (is_root) version = store.newest(name).value();
  const auto updates = Tensor::from<std::int64_t>({1}, std::vector{version.updates});
  group.broadcast(updates, root)->wait(limit);
  version.updates = updates.item<std::int64_t>();
  if (!is_root) version.value = Tensor(info.shape, info.dtype);
  group.broadcast(version.value, root)->wait(limit);
  return version;
}

}  // namespace

void spread_held_values(Communicator& group, std::span<const int> processes, const Plan& plan, ParameterStore& store,
                        std::chrono::milliseconds limit) {
  for (const auto& holder : holders_in(plan)) {
    const auto& name = holder.first;
    const auto process = holder.second;
    const auto found = std::ranges::find(processes, process);
    if (found == processes.end())
      throw Error("trainer", "'" + name + "' is held by process " + std::to_string(process) + ", which may be lost");
    const auto root = static_cast<int>(found - processes.begin());
    const auto known = std::ranges::find_if(plan.parameters, [&](const auto& p) {
      return p.ref == ParameterRef{name, 0};
    });
    const auto version = version_from(group, root, name, known->info, store, limit);
    if (group.rank() != root) store.adopt(name, version);
  }
}

void gather_recording(Communicator& group, Recording& recording, std::chrono::milliseconds limit) {
  for (int rank = 1; rank < group.size(); ++rank) {
    const auto own = rank == group.rank() ? recording.encode_last_run() : std::vector<std::byte>{};
    const auto length = Tensor::from<std::int64_t>({1}, std::vector{static_cast<std::int64_t>(own.size())});
    group.broadcast(length, rank)->wait(limit);
    const Tensor bytes(Shape{length.item<std::int64_t>()}, DType::uint8);
    std::ranges::copy(own, bytes.mutable_raw());
    group.broadcast(bytes, rank)->wait(limit);
    if (group.rank() == 0) recording.add({bytes.raw(), bytes.bytes()});
  }
}

}  // namespace troupe
