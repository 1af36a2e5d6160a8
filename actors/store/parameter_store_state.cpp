#include "troupe/actors/store/parameter_store_state.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// The longest time that a writer waits for ParameterReaders to end the accesses that they have begun.
constexpr std::chrono::seconds kAccessLimit{10};

std::string describe(const ParameterRef& ref) {
  return "'" + ref.name + "' of replica " + std::to_string(ref.replica);
}

}  // namespace

Tensor host_clone(const Tensor& tensor) {
  return tensor.host_accessible() ? tensor.clone() : tensor.copy_to_host();
}

bool ParameterStore::Copy::is_being_updated() const {
  return counter->writing() || std::ranges::any_of(of_rows, [](const auto& rows) { return rows.second->writing(); });
}

bool ParameterStore::Copy::may_still_be_written() const {
  return counter->abandoned() ||
         std::ranges::any_of(of_rows, [](const auto& rows) { return rows.second->abandoned(); });
}

std::shared_ptr<UpdateCounter> ParameterStore::Copy::counter_of(const std::optional<RowRange>& rows) {
  if (!rows) return counter;
  auto& of_these = of_rows[*rows];
  if (!of_these) of_these = std::make_shared<UpdateCounter>();
  return of_these;
}

void ParameterStore::Copy::begin_apart() const {
  for (const auto& [rows, updates] : of_rows) updates->reset(counter->updates());
}

void ParameterStore::Copy::end_apart() const {
  auto largest = counter->updates();
  for (const auto& [rows, updates] : of_rows) largest = std::max(largest, updates->updates());
  if (!of_rows.empty()) counter->reset(largest);
}

const ParameterStore::Copy& ParameterStore::State::find(const ParameterRef& ref) const {
  const auto parameter = parameters.find(ref.name);
  if (parameter != parameters.end()) {
    const auto copy = parameter->second.copies.find(ref.replica);
    if (copy != parameter->second.copies.end()) return copy->second;
  }
  std::string names;
  for (const auto& [name, other] : parameters) names += (names.empty() ? "; there are '" : ", '") + name + "'";
  throw Error("store", "there is no parameter " + describe(ref) +
                           (names.empty() ? "; a plan makes them when it is spawned" : names));
}

ParameterStore::Copy& ParameterStore::State::find(const ParameterRef& ref) {
  return const_cast<Copy&>(std::as_const(*this).find(ref));
}

const ParameterStore::Copy* ParameterStore::State::newest_whole(const Parameter& parameter) const {
  const Copy* newest = nullptr;
  for (const auto& [replica, copy] : parameter.copies)
    if (copy.broken.empty() && (newest == nullptr || copy.counter->updates() > newest->counter->updates()))
      newest = &copy;
  return newest;
}

std::optional<ParameterStore::Version> ParameterStore::State::newest(const Parameter& parameter) const {
  const auto* copy = newest_whole(parameter);
  return copy == nullptr ? std::nullopt : std::optional(Version{copy->counter->updates(), copy->tensor});
}

std::optional<ParameterStore::Version> ParameterStore::State::start_value(const std::string& name) const {
  const auto start = start_values.find(name);
  return start == start_values.end() ? std::nullopt : std::optional(start->second);
}

Tensor ParameterStore::State::value_of(const std::string& name, int replica) const {
  const auto entry = parameters.find(name);
  const bool first = replica == kFirst && entry != parameters.end() && !entry->second.copies.empty();
  const ParameterRef ref{name, first ? entry->second.copies.begin()->first : std::max(replica, 0)};
  if (first)
    check_unwritten(ref);
  else
    check_free(ref, false);
  check_whole(ref);
  // The lowest replica may be one that a Predictor has added, in whose process another replica is trained.
  return host_clone((first ? current(ref) : find(ref)).tensor);
}

ParameterStore::Version ParameterStore::State::version_to_recover(const std::string& name,
                                                                  const Parameter& parameter) const {
  if (!parameter.per_replica) return *newest(parameter);
  Version initial{0, Tensor(parameter.info.shape, parameter.info.dtype)};
  fill(initial.value, name, *parameter.per_replica);
  return initial;
}

void ParameterStore::State::fill(const Tensor& value, const std::string& name, const Initializer& initializer) const {
  const auto stream = std::find(trained.begin(), trained.end(), name) - trained.begin();
  initializer.fill(value, seed, static_cast<std::uint64_t>(stream));
}

void ParameterStore::State::check_free(const ParameterRef& ref, bool to_write) const {
  const auto& copy = find(ref);
  if (!copy.writer.empty())
    throw Error("store",
                "parameter " + describe(ref) + " is being written by " + copy.writer + "; wait for the end of its run");
  if (to_write && copy.readers + copy.accesses > 0)
    throw Error("store", "parameter " + describe(ref) + " is being read by a run");
}

void ParameterStore::State::check_unwritten(const ParameterRef& ref) const {
  check_free(ref, false);
  const auto& parameter = parameters.at(ref.name);
  if (parameter.per_replica) return;
  for (const auto& [replica, copy] : parameter.copies) check_free({ref.name, replica}, false);
}

void ParameterStore::State::check_whole(const ParameterRef& ref) const {
  if (!find(ref).broken.empty()) throw Error("store", describe_broken());
}

void ParameterStore::State::wait_for_accesses(std::unique_lock<std::mutex>& lock,
                                              const std::vector<ParameterRef>& refs) const {
  for (const auto& ref : refs) find(ref);  // throws before the count is raised
  ++waiting_writers;
  access_over.wait_for(lock, kAccessLimit, [&] {
    return std::ranges::all_of(refs, [&](const ParameterRef& ref) { return find(ref).accesses == 0; });
  });
  --waiting_writers;
  access_over.notify_all();
}

void ParameterStore::State::wait_for_writers(std::unique_lock<std::mutex>& lock) const {
  access_over.wait_for(lock, kAccessLimit, [&] { return waiting_writers == 0; });
}

void ParameterStore::State::expect_fits(const std::string& name, const Tensor& value) const {
  if (!value) throw Error("store", "parameter '" + name + "' cannot be set to no tensor");
  const auto entry = parameters.find(name);
  if (entry == parameters.end()) return;
  const auto& info = entry->second.info;
  if (!(value.shape() == info.shape) || value.dtype() != info.dtype)
    throw Error("store", "parameter '" + name + "' is " + to_string(info) + ", not " + to_string(value));
}

ParameterStore::Version ParameterStore::State::next_version(const std::string& name, const Tensor& value) const {
  const auto entry = parameters.find(name);
  if (entry == parameters.end()) {
    const auto start = start_values.find(name);
    return {start == start_values.end() ? 0 : start->second.updates + 1, value};
  }
  std::int64_t updates = 0;
  for (const auto& [replica, copy] : entry->second.copies) updates = std::max(updates, copy.counter->updates());
  return {updates + 1, value};
}

void ParameterStore::State::adopt(std::unique_lock<std::mutex>& lock,
                                  const std::vector<std::pair<std::string, Version>>& values) {
  for (const auto& [name, version] : values) expect_fits(name, version.value);
  std::vector<ParameterRef> refs;
  for (const auto& [name, version] : values)
    if (const auto entry = parameters.find(name); entry != parameters.end())
      for (const auto& [replica, copy] : entry->second.copies) refs.push_back({name, replica});
  wait_for_accesses(lock, refs);
  for (const auto& ref : refs) check_free(ref, true);
  ++changes;
  for (const auto& [name, version] : values) {
    const auto entry = parameters.find(name);
    if (entry == parameters.end())
      start_values[name] = {version.updates, host_clone(version.value)};
    else
      for (auto& [replica, copy] : entry->second.copies) restore(copy, entry->second.info, version);
  }
  // A reader in a fit waits for the version that has the new values.
  std::set<std::string> names;
  for (const auto& [name, version] : values) names.insert(name);
  drop_versions(names);
}

void ParameterStore::State::restore(Copy& copy, const TensorInfo& info, const Version& version) {
  if (copy.abandoned) {
    copy.tensor = Tensor(info.shape, info.dtype, copy.tensor.device());
    copy.counter = std::make_shared<UpdateCounter>();
    copy.of_rows.clear();
    copy.abandoned = false;
  }
  copy_and_wait(version.value, copy.tensor);
  copy.counter->reset(version.updates);
  copy.lineage = 0;
  copy.broken.clear();
}

bool ParameterStore::State::is_behind(const ParameterRef& ref) const {
  const auto& copy = find(ref);
  const auto* newest = newest_whole(parameters.at(ref.name));
  // Copies of different lineages are models of their own, which a strategy without equal copies has trained. The newest
  // copy may be half-written as long as a run writes to it, so its value is not taken.
  return newest != nullptr && newest->counter->updates() != copy.counter->updates() &&
         newest->lineage == copy.lineage && newest->writer.empty();
}

const ParameterStore::Copy& ParameterStore::State::current(const ParameterRef& ref) const {
  return is_behind(ref) ? *newest_whole(parameters.at(ref.name)) : find(ref);
}

std::vector<ParameterRef> ParameterStore::State::behind(const std::vector<ParameterRef>& refs) const {
  std::vector<ParameterRef> result;
  std::ranges::copy_if(refs, std::back_inserter(result), [&](const auto& ref) { return is_behind(ref); });
  return result;
}

void ParameterStore::State::refresh(const std::vector<ParameterRef>& refs) {
  const auto outdated = behind(refs);
  for (const auto& ref : outdated) check_free(ref, true);
  for (const auto& ref : outdated) {
    const auto& newest = current(ref);
    auto& copy = find(ref);
    copy_and_wait(newest.tensor, copy.tensor);
    copy.counter->reset(newest.counter->updates());
  }
}

std::string ParameterStore::State::describe_broken() const {
  std::map<int, std::string> reasons;
  bool recoverable = true;
  for (const auto& [name, parameter] : parameters) {
    for (const auto& [replica, copy] : parameter.copies)
      if (!copy.broken.empty()) reasons[replica] = copy.broken;
    recoverable = recoverable && (parameter.per_replica || newest_whole(parameter) != nullptr);
  }
  std::string text;
  for (const auto& [replica, reason] : reasons)
    text += (text.empty() ? "" : "; ") + std::string("the parameters of replica ") + std::to_string(replica) +
            " may be half-written: " + reason;
  if (text.empty()) return text;
  return text + (recoverable ? "; recover() goes on from the newest whole replica, or set them from a checkpoint"
                             : "; no replica is whole, so set them from a checkpoint");
}

}  // namespace troupe
