// Functions on the stores of one training.

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

namespace {

std::set<std::string> names_of(const Stores& stores) {
  std::set<std::string> names;
  for (const auto& store : stores) {
    const auto more = store->names();
    names.insert(more.begin(), more.end());
  }
  return names;
}

/// The store whose newest value of this name has the most updates. Null if no store has a whole value.
const ParameterStore* newest_of(const Stores& stores, const std::string& name) {
  const ParameterStore* newest = nullptr;
  for (const auto& store : stores) {
    const auto updates = store->newest_updates(name);
    if (updates && (newest == nullptr || *updates > *newest->newest_updates(name))) newest = store.get();
  }
  return newest;
}

}  // namespace

void synchronize(const Stores& stores) {
  if (stores.size() < 2) return;
  for (const auto& store : stores)
    if (!store->broken().empty()) return;
  std::vector<ParameterStore::NamedVersions> newer(stores.size());
  for (const auto& name : names_of(stores)) {
    const auto* source = newest_of(stores, name);
    if (source == nullptr) continue;
    const auto updates = source->newest_updates(name);
    for (std::size_t i = 0; i < stores.size(); ++i)
      if (stores[i]->newest_updates(name) != updates) newer[i].emplace_back(name, *source->newest(name));
  }
  for (std::size_t i = 0; i < stores.size(); ++i)
    if (!newer[i].empty()) stores[i]->adopt(newer[i]);
}

void recover(const Stores& stores) {
  for (const auto& store : stores) {
    if (store->broken().empty()) continue;
    for (const auto& name : names_of(stores)) {
      const auto* source = newest_of(stores, name);
      if (source != nullptr && source != store.get() && !store->newest_updates(name))
        store->adopt(name, *source->newest(name));
    }
    store->recover();
  }
}

}  // namespace troupe
