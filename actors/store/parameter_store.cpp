#include "troupe/actors/store/parameter_store.hpp"

#include <algorithm>

#include "troupe/actors/store/parameter_store_state.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"

namespace troupe {

namespace {

Tensor host_clone(const Tensor& tensor) {
  return tensor.host_accessible() ? tensor.clone() : tensor.copy_to_host();
}

}  // namespace

ParameterStore::ParameterStore(std::uint64_t seed) : state_(std::make_unique<State>(seed)) {}
ParameterStore::~ParameterStore() = default;

std::uint64_t ParameterStore::seed() const {
  return state_->seed;
}

void ParameterStore::note_order(const std::vector<PlanParameter>& parameters) {
  std::lock_guard lock(state_->mutex);
  for (const auto& parameter : parameters)
    if (parameter.trainable) state_->note_trained(parameter.ref.name);
}

void ParameterStore::add(const PlanParameter& planned) {
  std::lock_guard lock(state_->mutex);
  state_->drop_misfit_state(planned);
  const auto entry = state_->parameters.find(planned.ref.name);
  if (entry != state_->parameters.end() && !(entry->second.info == planned.info))
    throw Error("store", "parameter '" + planned.ref.name + "' is " + to_string(entry->second.info) + ", not " +
                             to_string(planned.info));
  if (entry != state_->parameters.end() && entry->second.copies.contains(planned.ref.replica)) return;
  if (entry != state_->parameters.end()) {
    for (const auto& [replica, copy] : entry->second.copies) state_->check_free({planned.ref.name, replica}, false);
    if (state_->newest_whole(entry->second) == nullptr) throw Error("store", state_->describe_broken());
  }
  Parameter fresh{planned.info, planned.trainable, {}};
  if (planned.per_replica) fresh.per_replica = planned.initializer;
  auto& parameter = entry != state_->parameters.end() ? entry->second : fresh;
  if (planned.trainable) state_->note_trained(planned.ref.name);
  Copy copy;
  copy.tensor = state_->first_value(planned, parameter);
  if (const auto* newest = state_->newest_whole(parameter)) copy.counter->reset(newest->counter->updates());
  if (const auto start = state_->start_values.find(planned.ref.name); start != state_->start_values.end()) {
    copy.counter->reset(start->second.updates);
    state_->start_values.erase(start);
  }
  parameter.copies.emplace(planned.ref.replica, std::move(copy));
  if (entry == state_->parameters.end()) state_->parameters.emplace(planned.ref.name, std::move(fresh));
}

std::vector<ParameterStore::Entry> ParameterStore::entries() const {
  std::lock_guard lock(state_->mutex);
  std::vector<Entry> entries;
  const auto add = [&](const std::string& name, const Parameter& parameter) {
    entries.push_back({name, parameter.info, parameter.trainable, static_cast<int>(parameter.copies.size())});
  };
  for (const auto& name : state_->trained)
    if (const auto entry = state_->parameters.find(name); entry != state_->parameters.end()) add(name, entry->second);
  for (const auto& [name, parameter] : state_->parameters)
    if (!parameter.trainable && !parameter.per_replica) add(name, parameter);
  return entries;
}

Tensor ParameterStore::get(const std::string& name, int replica) const {
  std::lock_guard lock(state_->mutex);
  const auto entry = state_->parameters.find(name);
  const bool first = replica == kFirst && entry != state_->parameters.end() && !entry->second.copies.empty();
  const ParameterRef ref{name, first ? entry->second.copies.begin()->first : std::max(replica, 0)};
  state_->check_free(ref, false);
  state_->check_whole(ref);
  return host_clone(state_->find(ref).tensor);
}

void ParameterStore::set(const std::string& name, const Tensor& value) {
  std::unique_lock lock(state_->mutex);
  if (!value) throw Error("store", "parameter '" + name + "' cannot be set to no tensor");
  const auto entry = state_->parameters.find(name);
  if (entry == state_->parameters.end()) {
    state_->start_values[name] = {0, host_clone(value)};
    return;
  }
  auto& [info, trainable, copies, per_replica] = entry->second;
  if (!(value.shape() == info.shape) || value.dtype() != info.dtype)
    throw Error("store", "parameter '" + name + "' is " + to_string(info) + ", not " + to_string(value));
  std::int64_t newest = 0;
  for (const auto& [replica, copy] : copies) newest = std::max(newest, copy.counter->updates());
  state_->restore_all(lock, name, entry->second, {newest + 1, value});
}

std::optional<ParameterStore::Version> ParameterStore::newest(const std::string& name) const {
  std::lock_guard lock(state_->mutex);
  const auto entry = state_->parameters.find(name);
  const auto start = state_->start_values.find(name);
  if (entry == state_->parameters.end())
    return start == state_->start_values.end() ? std::nullopt : std::optional(start->second);
  for (const auto& [replica, copy] : entry->second.copies) state_->check_free({name, replica}, false);
  const auto* newest = state_->newest_whole(entry->second);
  if (newest == nullptr) return std::nullopt;
  return Version{newest->counter->updates(), host_clone(newest->tensor)};
}

std::optional<std::int64_t> ParameterStore::newest_updates(const std::string& name) const {
  std::lock_guard lock(state_->mutex);
  const auto entry = state_->parameters.find(name);
  const auto start = state_->start_values.find(name);
  if (entry == state_->parameters.end())
    return start == state_->start_values.end() ? std::nullopt : std::optional(start->second.updates);
  const auto* newest = state_->newest_whole(entry->second);
  return newest == nullptr ? std::nullopt : std::optional(newest->counter->updates());
}

void ParameterStore::adopt(const std::string& name, const Version& version) {
  std::unique_lock lock(state_->mutex);
  const auto entry = state_->parameters.find(name);
  if (entry == state_->parameters.end())
    state_->start_values[name] = {version.updates, host_clone(version.value)};
  else
    state_->restore_all(lock, name, entry->second, version);
}

std::vector<std::string> ParameterStore::names() const {
  std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : state_->parameters)
    if (!parameter.per_replica) names.push_back(name);
  for (const auto& [name, version] : state_->start_values) names.push_back(name);
  return names;
}

std::vector<std::string> ParameterStore::unclaimed() const {
  std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, version] : state_->start_values) names.push_back(name);
  return names;
}

void ParameterStore::forget(const std::string& name) {
  std::lock_guard lock(state_->mutex);
  state_->start_values.erase(name);
}

TrainingPosition ParameterStore::position() const {
  std::lock_guard lock(state_->mutex);
  return state_->position;
}

void ParameterStore::set_position(const TrainingPosition& position) {
  std::lock_guard lock(state_->mutex);
  state_->position = position;
}

/// The start value of a parameter that no plan has needed here.
std::optional<ParameterStore::Version> ParameterStore::start_value(const std::string& name) const {
  std::lock_guard lock(state_->mutex);
  const auto start = state_->start_values.find(name);
  return start == state_->start_values.end() ? std::nullopt : std::optional(start->second);
}

std::string ParameterStore::hash(int replica) const {
  std::vector<std::string> names;
  {
    std::lock_guard lock(state_->mutex);
    names = state_->trained;
  }
  Hash hash;
  for (const auto& name : names) {
    const auto value = replica == kFirst ? start_value(name) : std::nullopt;
    const auto tensor = value ? value->value : get(name, replica);
    hash.add_bytes(tensor.raw(), tensor.bytes());
  }
  return hash.hex();
}

std::int64_t ParameterStore::trained_elements() const {
  std::lock_guard lock(state_->mutex);
  std::int64_t sum = 0;
  for (const auto& name : state_->trained)
    if (const auto entry = state_->parameters.find(name); entry != state_->parameters.end())
      sum += entry->second.info.shape.elements();
  return sum;
}

const Tensor& ParameterStore::borrowed(const ParameterRef& ref) const {
  std::lock_guard lock(state_->mutex);
  return state_->find(ref).tensor;
}

std::shared_ptr<UpdateCounter> ParameterStore::counter(const ParameterRef& ref) const {
  std::lock_guard lock(state_->mutex);
  return state_->find(ref).counter;
}

Tensor ParameterStore::borrowed(const ParameterRef& ref, const std::optional<RowRange>& rows) const {
  const auto& all = borrowed(ref);
  return rows ? all.rows(rows->first, rows->count) : all;
}

std::shared_ptr<UpdateCounter> ParameterStore::counter(const ParameterRef& ref,
                                                       const std::optional<RowRange>& rows) const {
  if (!rows) return counter(ref);
  std::lock_guard lock(state_->mutex);
  auto& of_rows = state_->find(ref).of_rows[*rows];
  if (!of_rows) of_rows = std::make_shared<UpdateCounter>();
  return of_rows;
}

std::string ParameterStore::broken() const {
  std::lock_guard lock(state_->mutex);
  return state_->describe_broken();
}

void ParameterStore::recover() {
  std::unique_lock lock(state_->mutex);
  for (const auto& [name, parameter] : state_->parameters) {
    if (!parameter.per_replica && state_->newest_whole(parameter) == nullptr)
      throw Error("store", state_->describe_broken());
    for (const auto& [replica, copy] : parameter.copies)
      if (!copy.broken.empty()) state_->check_free({name, replica}, true);
  }
  ++state_->changes;
  for (auto& [name, parameter] : state_->parameters) {
    const auto version = state_->version_to_recover(name, parameter);
    for (auto& [replica, copy] : parameter.copies) {
      if (copy.broken.empty()) continue;
      // The failed run may still write to the old tensor.
      copy.abandoned = true;
      state_->restore(copy, parameter.info, version);
    }
  }
}

}  // namespace troupe
