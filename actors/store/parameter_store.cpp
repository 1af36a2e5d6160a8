#include "troupe/actors/store/parameter_store.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "troupe/actors/store/parameter_store_state.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/core/name.hpp"

namespace troupe {

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
  return get(std::vector{name}, replica).front();
}

std::vector<Tensor> ParameterStore::get(const std::vector<std::string>& names, int replica) const {
  std::unique_lock lock(state_->mutex);
  const State::Visit visit(*state_, lock, {names.begin(), names.end()});
  std::vector<Tensor> values;
  for (const auto& name : names) {
    const auto start = replica == kFirst ? state_->start_value(name) : std::nullopt;
    values.push_back(start ? host_clone(start->value) : state_->value_of(name, replica));
  }
  return values;
}

void ParameterStore::set(const std::string& name, const Tensor& value) {
  set(NamedValues{{name, value}});
}

void ParameterStore::set(const NamedValues& values) {
  std::unique_lock lock(state_->mutex);
  std::set<std::string> names;
  for (const auto& [name, value] : values) names.insert(name);
  const State::Visit visit(*state_, lock, std::move(names));
  std::vector<std::pair<std::string, Version>> versions;
  for (const auto& [name, value] : values) {
    expect_name("store", "a parameter", name, kMaxMadeNameBytes);
    versions.emplace_back(name, state_->next_version(name, value));
  }
  state_->adopt(lock, versions);
}

std::optional<ParameterStore::Version> ParameterStore::newest(const std::string& name) const {
  std::unique_lock lock(state_->mutex);
  const State::Visit visit(*state_, lock, {name});
  const auto entry = state_->parameters.find(name);
  if (entry == state_->parameters.end()) return state_->start_value(name);
  for (const auto& [replica, copy] : entry->second.copies) state_->check_free({name, replica}, false);
  auto version = state_->newest(entry->second);
  if (version) version->value = host_clone(version->value);
  return version;
}

ParameterStore::Snapshot ParameterStore::snapshot() const {
  std::unique_lock lock(state_->mutex);
  std::set<std::string> names;
  for (const auto& [name, parameter] : state_->parameters)
    if (!parameter.per_replica) names.insert(name);
  const State::Visit visit(*state_, lock, names);
  Snapshot snapshot{.values = {}, .positions = state_->trainers.all()};
  for (const auto& name : names) {
    const auto& parameter = state_->parameters.at(name);
    for (const auto& [replica, copy] : parameter.copies) state_->check_free({name, replica}, false);
    const auto version = state_->newest(parameter);
    if (!version) throw Error("store", state_->describe_broken());
    snapshot.values.push_back({name, {version->updates, host_clone(version->value)}});
  }
  for (const auto& [name, version] : state_->start_values) snapshot.values.push_back({name, version});
  return snapshot;
}

std::optional<std::int64_t> ParameterStore::newest_updates(const std::string& name) const {
  std::lock_guard lock(state_->mutex);
  const auto entry = state_->parameters.find(name);
  const auto version = entry == state_->parameters.end() ? state_->start_value(name) : state_->newest(entry->second);
  return version ? std::optional(version->updates) : std::nullopt;
}

void ParameterStore::adopt(const std::string& name, const Version& version) {
  std::unique_lock lock(state_->mutex);
  state_->adopt(lock, {{name, version}});
}

void ParameterStore::adopt(const NamedVersions& versions) {
  std::unique_lock lock(state_->mutex);
  state_->adopt(lock, versions);
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

void ParameterStore::keep(int replica) {
  std::unique_lock lock(state_->mutex);
  std::vector<std::pair<std::string, Version>> kept;
  for (const auto& [name, parameter] : state_->parameters) {
    const auto copy = parameter.copies.find(replica);
    if (parameter.per_replica || copy == parameter.copies.end()) continue;
    state_->check_whole({name, replica});
    state_->check_free({name, replica}, true);
    const auto largest =
        std::ranges::max_element(parameter.copies, {}, [](const auto& each) { return each.second.counter->updates(); });
    kept.push_back({name, {largest->second.counter->updates() + 1, host_clone(copy->second.tensor)}});
  }
  if (kept.empty()) throw Error("store", "there is no copy of replica " + std::to_string(replica));
  state_->adopt(lock, kept);
}

TrainingPosition ParameterStore::position(const std::string& trainer) const {
  return state_->trainers.of(trainer);
}

void ParameterStore::set_position(const TrainingPosition& position, const std::string& trainer) {
  state_->trainers.set(trainer, position);
}

std::map<std::string, TrainingPosition> ParameterStore::positions() const {
  return state_->trainers.all();
}

bool ParameterStore::has_other_trainer(const std::string& trainer) const {
  return state_->trainers.has_other(trainer);
}

std::shared_ptr<const std::string> ParameterStore::enter_trainer(const std::string& name) {
  return state_->trainers.enter(name);
}

std::string ParameterStore::hash(int replica) const {
  std::unique_lock lock(state_->mutex);
  const State::Visit visit(*state_, lock, {state_->trained.begin(), state_->trained.end()});
  Hash hash;
  for (const auto& name : state_->trained) {
    const auto start = replica == kFirst ? state_->start_value(name) : std::nullopt;
    const auto value = start ? start->value : state_->value_of(name, replica);
    hash.add_bytes(value.raw(), value.bytes());
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

bool ParameterStore::is_tensor_of(const ParameterRef& ref, const Tensor& tensor) const {
  std::lock_guard lock(state_->mutex);
  const auto parameter = state_->parameters.find(ref.name);
  if (parameter == state_->parameters.end()) return false;
  const auto copy = parameter->second.copies.find(ref.replica);
  return copy != parameter->second.copies.end() && copy->second.tensor.same_as(tensor);
}

Tensor ParameterStore::borrowed(const ParameterRef& ref, const std::optional<RowRange>& rows) const {
  const auto& all = borrowed(ref);
  return rows ? all.rows(rows->first, rows->count) : all;
}

std::shared_ptr<UpdateCounter> ParameterStore::counter(const ParameterRef& ref,
                                                       const std::optional<RowRange>& rows) const {
  std::lock_guard lock(state_->mutex);
  return state_->find(ref).counter_of(rows);
}

void ParameterStore::break_copies(const std::set<ParameterRef>& copies, const std::string& reason) {
  const std::lock_guard lock(state_->mutex);
  ++state_->changes;
  for (const auto& ref : copies)
    if (auto& copy = state_->find(ref); copy.broken.empty()) copy.broken = reason;
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
    const auto* newest = state_->newest_whole(parameter);
    const auto lineage = newest == nullptr ? 0 : newest->lineage;
    for (auto& [replica, copy] : parameter.copies) {
      if (copy.broken.empty()) continue;
      // Makes restore() allocate a new tensor: the failed run may still write to the old one.
      copy.abandoned = true;
      state_->restore(copy, parameter.info, version);
      copy.lineage = lineage;
    }
  }
}

}  // namespace troupe
