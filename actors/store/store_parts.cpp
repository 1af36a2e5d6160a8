#include "troupe/actors/store/store_parts.hpp"

#include <set>

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

/// The store with the newest value, or nullptr.
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
  for (const auto& name : names_of(stores)) {
    const auto* source = newest_of(stores, name);
    if (source == nullptr) continue;
    const auto updates = source->newest_updates(name);
    for (const auto& store : stores)
      if (store->newest_updates(name) != updates) store->adopt(name, *source->newest(name));
  }
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
