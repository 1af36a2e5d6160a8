#include "troupe/actors/run/parameter_store.hpp"

#include <algorithm>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"

namespace troupe {

namespace {

std::string describe(const ParameterRef& ref) {
  return "'" + ref.name + "' of replica " + std::to_string(ref.replica);
}

Tensor host_clone(const Tensor& tensor) {
  return tensor.host_accessible() ? tensor.clone() : tensor.copy_to_host();
}

}  // namespace

void ParameterStore::add(const PlanParameter& wanted) {
  std::lock_guard lock(mutex_);
  const auto known = parameters_.find(wanted.ref.name);
  if (known != parameters_.end() && !(known->second.info == wanted.info))
    throw Error("store", "parameter '" + wanted.ref.name + "' is " + to_string(known->second.info) + ", not " +
                             to_string(wanted.info));
  if (known != parameters_.end() && known->second.copies.contains(wanted.ref.replica)) return;
  if (known == parameters_.end() && wanted.trainable) trained_.push_back(wanted.ref.name);
  if (known != parameters_.end()) {
    for (const auto& [replica, copy] : known->second.copies) check_free({wanted.ref.name, replica}, false);
    if (newest_whole(known->second) == nullptr) throw Error("store", describe_broken());
  }
  Parameter fresh{wanted.info, wanted.trainable, {}};
  auto& parameter = known != parameters_.end() ? known->second : fresh;
  Copy copy;
  try {
    copy.tensor = first_value(wanted, parameter);
  } catch (...) {
    if (known == parameters_.end() && wanted.trainable) trained_.pop_back();
    throw;
  }
  if (const auto* newest = newest_whole(parameter)) copy.counter->updates_ = newest->counter->updates();
  if (const auto start = start_values_.find(wanted.ref.name); start != start_values_.end()) {
    copy.counter->updates_ = start->second.updates;
    start_values_.erase(start);
  }
  parameter.copies.emplace(wanted.ref.replica, std::move(copy));
  if (known == parameters_.end()) parameters_.emplace(wanted.ref.name, std::move(fresh));
}

Tensor ParameterStore::first_value(const PlanParameter& wanted, const Parameter& known) {
  Tensor tensor(wanted.info.shape, wanted.info.dtype, wanted.device);
  const auto start = start_values_.find(wanted.ref.name);
  if (const auto* newest = newest_whole(known)) {
    copy_and_wait(newest->tensor, tensor);
  } else if (start != start_values_.end()) {
    const auto& value = start->second.value;
    if (!(value.shape() == wanted.info.shape) || value.dtype() != wanted.info.dtype)
      throw Error("store", "parameter '" + wanted.ref.name + "' is " + to_string(wanted.info) + ", but was set to " +
                               to_string(value));
    copy_and_wait(value, tensor);
  } else {
    const auto stream = std::find(trained_.begin(), trained_.end(), wanted.ref.name) - trained_.begin();
    const auto value = tensor.host_accessible() ? tensor : Tensor(wanted.info.shape, wanted.info.dtype);
    wanted.initializer.fill(value, seed_, static_cast<std::uint64_t>(stream));
    if (!value.same_as(tensor)) copy_and_wait(value, tensor);
  }
  return tensor;
}

const ParameterStore::Copy* ParameterStore::newest_whole(const Parameter& parameter) const {
  const Copy* newest = nullptr;
  for (const auto& [replica, copy] : parameter.copies)
    if (copy.broken.empty() && (newest == nullptr || copy.counter->updates() > newest->counter->updates()))
      newest = &copy;
  return newest;
}

std::vector<ParameterStore::Entry> ParameterStore::entries() const {
  std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  const auto add = [&](const std::string& name, const Parameter& parameter) {
    entries.push_back({name, parameter.info, parameter.trainable, static_cast<int>(parameter.copies.size())});
  };
  for (const auto& name : trained_) add(name, parameters_.at(name));
  for (const auto& [name, parameter] : parameters_)
    if (!parameter.trainable) add(name, parameter);
  return entries;
}

const ParameterStore::Copy& ParameterStore::find(const ParameterRef& ref) const {
  const auto parameter = parameters_.find(ref.name);
  if (parameter != parameters_.end()) {
    const auto copy = parameter->second.copies.find(ref.replica);
    if (copy != parameter->second.copies.end()) return copy->second;
  }
  std::string names;
  for (const auto& [name, known] : parameters_) names += (names.empty() ? "; there are '" : ", '") + name + "'";
  throw Error("store", "there is no parameter " + describe(ref) +
                           (names.empty() ? "; a plan makes them when it is spawned" : names));
}

ParameterStore::Copy& ParameterStore::find(const ParameterRef& ref) {
  return const_cast<Copy&>(std::as_const(*this).find(ref));
}

void ParameterStore::check_free(const ParameterRef& ref, bool to_write) const {
  const auto& copy = find(ref);
  if (!copy.writer.empty())
    throw Error("store",
                "parameter " + describe(ref) + " is being written by " + copy.writer + "; wait for the end of its run");
  if (to_write && copy.readers + copy.accesses > 0)
    throw Error("store", "parameter " + describe(ref) + " is being read by a run");
}

void ParameterStore::check_whole(const ParameterRef& ref) const {
  if (!find(ref).broken.empty()) throw Error("store", describe_broken());
}

Tensor ParameterStore::get(const std::string& name, int replica) const {
  std::lock_guard lock(mutex_);
  const ParameterRef ref{name, replica};
  check_free(ref, false);
  check_whole(ref);
  return host_clone(find(ref).tensor);
}

void ParameterStore::set(const std::string& name, const Tensor& value) {
  std::unique_lock lock(mutex_);
  if (!value) throw Error("store", "parameter '" + name + "' cannot be set to no tensor");
  const auto known = parameters_.find(name);
  if (known == parameters_.end()) {
    start_values_[name] = {0, host_clone(value)};
    return;
  }
  auto& [info, trainable, copies] = known->second;
  if (!(value.shape() == info.shape) || value.dtype() != info.dtype)
    throw Error("store", "parameter '" + name + "' is " + to_string(info) + ", not " + to_string(value));
  std::int64_t newest = 0;
  for (const auto& [replica, copy] : copies) newest = std::max(newest, copy.counter->updates());
  restore_all(lock, name, known->second, {newest + 1, value});
}

/// Writes a value into all copies, which nobody may use.
void ParameterStore::restore_all(std::unique_lock<std::mutex>& lock, const std::string& name, Parameter& parameter,
                                 const Version& version) {
  std::vector<ParameterRef> refs;
  for (const auto& [replica, copy] : parameter.copies) refs.push_back({name, replica});
  wait_for_accesses(lock, refs);
  for (const auto& ref : refs) check_free(ref, true);
  ++changes_;
  for (auto& [replica, copy] : parameter.copies) restore(copy, parameter.info, version);
}

void ParameterStore::restore(Copy& copy, const TensorInfo& info, const Version& version) {
  if (copy.abandoned) {
    copy.tensor = Tensor(info.shape, info.dtype, copy.tensor.device());
    copy.counter = std::make_shared<UpdateCounter>();
    copy.abandoned = false;
  }
  copy_and_wait(version.value, copy.tensor);
  copy.counter->updates_ = version.updates;
  copy.counter->writing_ = false;
  copy.broken.clear();
}

std::optional<ParameterStore::Version> ParameterStore::newest(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto known = parameters_.find(name);
  const auto start = start_values_.find(name);
  if (known == parameters_.end()) return start == start_values_.end() ? std::nullopt : std::optional(start->second);
  for (const auto& [replica, copy] : known->second.copies) check_free({name, replica}, false);
  const auto* newest = newest_whole(known->second);
  if (newest == nullptr) return std::nullopt;
  return Version{newest->counter->updates(), host_clone(newest->tensor)};
}

std::optional<std::int64_t> ParameterStore::newest_updates(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto known = parameters_.find(name);
  const auto start = start_values_.find(name);
  if (known == parameters_.end())
    return start == start_values_.end() ? std::nullopt : std::optional(start->second.updates);
  const auto* newest = newest_whole(known->second);
  return newest == nullptr ? std::nullopt : std::optional(newest->counter->updates());
}

void ParameterStore::adopt(const std::string& name, const Version& version) {
  std::unique_lock lock(mutex_);
  const auto known = parameters_.find(name);
  if (known == parameters_.end())
    start_values_[name] = {version.updates, host_clone(version.value)};
  else
    restore_all(lock, name, known->second, version);
}

std::vector<std::string> ParameterStore::names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters_) names.push_back(name);
  for (const auto& [name, version] : start_values_) names.push_back(name);
  return names;
}

TrainingPosition ParameterStore::position() const {
  std::lock_guard lock(mutex_);
  return position_;
}

void ParameterStore::set_position(const TrainingPosition& position) {
  std::lock_guard lock(mutex_);
  position_ = position;
}

std::string ParameterStore::hash(int replica) const {
  std::vector<std::string> names;
  {
    std::lock_guard lock(mutex_);
    names = trained_;
  }
  Hash hash;
  for (const auto& name : names) {
    const auto tensor = get(name, replica);
    hash.add_bytes(tensor.raw(), tensor.bytes());
  }
  return hash.hex();
}

std::int64_t ParameterStore::trained_elements() const {
  std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const auto& name : trained_) sum += parameters_.at(name).info.shape.elements();
  return sum;
}

const Tensor& ParameterStore::borrowed(const ParameterRef& ref) const {
  std::lock_guard lock(mutex_);
  return find(ref).tensor;
}

std::shared_ptr<UpdateCounter> ParameterStore::counter(const ParameterRef& ref) const {
  std::lock_guard lock(mutex_);
  return find(ref).counter;
}

}  // namespace troupe
