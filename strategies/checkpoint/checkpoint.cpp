#include "troupe/strategies/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

Checkpoint checkpoint_of(const ParameterStore& store, std::map<std::string, std::string> texts) {
  auto snapshot = store.snapshot();
  Checkpoint checkpoint{.positions = std::move(snapshot.positions), .texts = std::move(texts)};
  for (const auto& [trainer, position] : checkpoint.positions)
    checkpoint.step = std::max(checkpoint.step, position.step);
  for (auto& [name, version] : snapshot.values)
    checkpoint.values.push_back({name, version.updates, std::move(version.value)});
  std::ranges::sort(checkpoint.values, {}, &CheckpointValue::name);
  return checkpoint;
}

void restore(const Checkpoint& checkpoint, ParameterStore& store) {
  ParameterStore::NamedVersions versions;
  for (const auto& value : checkpoint.values) versions.push_back({value.name, {value.updates, value.value}});
  store.adopt(versions);
  for (const auto& [trainer, position] : checkpoint.positions) store.set_position(position, trainer);
}

}  // namespace troupe
