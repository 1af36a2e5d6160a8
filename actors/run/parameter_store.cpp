#include "troupe/actors/run/parameter_store.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

std::string describe(const ParameterRef& ref) {
  return "'" + ref.name + "' of replica " + std::to_string(ref.replica);
}

/// Blocks until the elements are there. No work on either tensor may be launched meanwhile.
void copy_elements(const Tensor& from, const Tensor& to) {
  const auto on_host = from.copy_to_host();
  const auto stream = backend_of(to.device()).make_stream(to.device());
  copy(*stream, on_host, to);
  stream->record().wait();
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
  parameter.copies.emplace(wanted.ref.replica, std::move(copy));
  if (known == parameters_.end()) parameters_.emplace(wanted.ref.name, std::move(fresh));
}

Tensor ParameterStore::first_value(const PlanParameter& wanted, const Parameter& known) {
  Tensor tensor(wanted.info.shape, wanted.info.dtype, wanted.device);
  const auto start = start_values_.find(wanted.ref.name);
  if (const auto* newest = newest_whole(known)) {
    copy_elements(newest->tensor, tensor);
  } else if (start != start_values_.end()) {
    if (!(start->second.shape() == wanted.info.shape) || start->second.dtype() != wanted.info.dtype)
      throw Error("store", "parameter '" + wanted.ref.name + "' is " + to_string(wanted.info) + ", but was set to " +
                               to_string(start->second));
    copy_elements(start->second, tensor);
    start_values_.erase(start);
  } else {
    const auto stream = std::find(trained_.begin(), trained_.end(), wanted.ref.name) - trained_.begin();
    const auto value = tensor.host_accessible() ? tensor : Tensor(wanted.info.shape, wanted.info.dtype);
    wanted.initializer.fill(value, seed_, static_cast<std::uint64_t>(stream));
    if (!value.same_as(tensor)) copy_elements(value, tensor);
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
  throw Error("store", "there is no parameter " + describe(ref));
}

ParameterStore::Copy& ParameterStore::find(const ParameterRef& ref) {
  return const_cast<Copy&>(std::as_const(*this).find(ref));
}

void ParameterStore::check_free(const ParameterRef& ref, bool to_write) const {
  const auto& copy = find(ref);
  if (!copy.writer.empty())
    throw Error("store",
                "parameter " + describe(ref) + " is being written by " + copy.writer + "; wait for the end of its run");
  if (to_write && copy.readers > 0) throw Error("store", "parameter " + describe(ref) + " is being read by a run");
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
  std::lock_guard lock(mutex_);
  if (!value) throw Error("store", "parameter '" + name + "' cannot be set to no tensor");
  const auto known = parameters_.find(name);
  if (known == parameters_.end()) {
    start_values_[name] = host_clone(value);
    return;
  }
  auto& [info, trainable, copies] = known->second;
  if (!(value.shape() == info.shape) || value.dtype() != info.dtype)
    throw Error("store", "parameter '" + name + "' is " + to_string(info) + ", not " + to_string(value));
  ++changes_;
  std::int64_t newest = 0;
  for (const auto& [replica, copy] : copies) {
    check_free({name, replica}, true);
    newest = std::max(newest, copy.counter->updates());
  }
  for (auto& [replica, copy] : copies) {
    if (copy.abandoned) copy.tensor = Tensor(info.shape, info.dtype, copy.tensor.device());
    copy_elements(value, copy.tensor);
    copy.counter->updates_ = newest + 1;
    copy.counter->writing_ = false;
    copy.broken.clear();
    copy.abandoned = false;
  }
}

TrainingPosition ParameterStore::position() const {
  std::lock_guard lock(mutex_);
  return position_;
}

void ParameterStore::set_position(const TrainingPosition& position) {
  std::lock_guard lock(mutex_);
  position_ = position;
}

void ParameterStore::refresh(const ParameterRef& ref) {
  auto& copy = find(ref);
  const auto* newest = newest_whole(parameters_.at(ref.name));
  if (newest == nullptr || newest->counter->updates() == copy.counter->updates()) return;
  // Another run that writes the newest copy leaves it at a step boundary only when it ends.
  if (!newest->writer.empty()) return;
  copy_elements(newest->tensor, copy.tensor);
  copy.counter->updates_ = newest->counter->updates();
}

Lease ParameterStore::borrow(std::vector<ParameterRef> read, std::vector<ParameterRef> written,
                             const std::string& borrower) {
  std::lock_guard lock(mutex_);
  for (const auto& ref : read) check_free(ref, false);
  for (const auto& ref : written) check_free(ref, true);
  for (const auto& ref : read) check_whole(ref);
  for (const auto& ref : written) check_whole(ref);
  for (const auto& ref : read) refresh(ref);
  for (const auto& ref : written) refresh(ref);
  if (!written.empty()) ++changes_;
  Lease lease;
  lease.store_ = this;
  lease.read_ = std::move(read);
  for (auto& ref : lease.read_) ++find(ref).readers;
  for (auto& ref : written) {
    auto& copy = find(ref);
    copy.writer = borrower;
    lease.written_.push_back({std::move(ref), copy.counter->updates()});
  }
  return lease;
}

void ParameterStore::give_back(const Lease& lease) {
  for (const auto& ref : lease.read_) --find(ref).readers;
  for (const auto& written : lease.written_) find(written.ref).writer.clear();
}

void ParameterStore::break_copies(const Lease& lease, const std::string& reason, bool abandoned) {
  ++changes_;
  std::map<int, std::set<std::int64_t>> steps_of;
  std::set<int> half_written;
  for (const auto& [ref, before] : lease.written_) {
    const auto& counter = *find(ref).counter;
    steps_of[ref.replica].insert(counter.updates() - before);
    if (counter.writing() || abandoned) half_written.insert(ref.replica);
  }
  for (const auto& [ref, before] : lease.written_) {
    auto& copy = find(ref);
    copy.abandoned = abandoned;
    if (half_written.contains(ref.replica) || steps_of[ref.replica].size() > 1) copy.broken = reason;
  }
}

std::string ParameterStore::describe_broken() const {
  std::map<int, std::string> reasons;
  std::set<int> whole;
  for (const auto& [name, parameter] : parameters_)
    for (const auto& [replica, copy] : parameter.copies)
      if (!copy.broken.empty()) reasons[replica] = copy.broken;
  for (const auto& [name, parameter] : parameters_)
    for (const auto& [replica, copy] : parameter.copies)
      if (!reasons.contains(replica)) whole.insert(replica);
  std::string text;
  for (const auto& [replica, reason] : reasons)
    text += (text.empty() ? "" : "; ") + std::string("the parameters of replica ") + std::to_string(replica) +
            " may be half-written: " + reason;
  if (text.empty()) return text;
  return text + (whole.empty() ? "; no replica is whole, so set them from a checkpoint"
                               : "; recover() goes on from replica " + std::to_string(*whole.begin()) +
                                     ", or set them from a checkpoint");
}

std::string ParameterStore::broken() const {
  std::lock_guard lock(mutex_);
  return describe_broken();
}

void ParameterStore::recover() {
  std::lock_guard lock(mutex_);
  ++changes_;
  for (const auto& [name, parameter] : parameters_) {
    const bool any_broken = std::any_of(parameter.copies.begin(), parameter.copies.end(),
                                        [](const auto& copy) { return !copy.second.broken.empty(); });
    if (any_broken && newest_whole(parameter) == nullptr) throw Error("store", describe_broken());
  }
  for (auto& [name, parameter] : parameters_) {
    const auto* newest = newest_whole(parameter);
    for (auto& [replica, copy] : parameter.copies) {
      if (copy.broken.empty()) continue;
      check_free({name, replica}, true);
      copy.tensor = Tensor(parameter.info.shape, parameter.info.dtype, copy.tensor.device());
      copy_elements(newest->tensor, copy.tensor);
      copy.counter->updates_ = newest->counter->updates();
      copy.counter->writing_ = false;
      copy.broken.clear();
      copy.abandoned = false;
    }
  }
}

std::string ParameterStore::hash(int replica) const {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  XXH3_64bits_reset(state.get());
  std::vector<std::string> names;
  {
    std::lock_guard lock(mutex_);
    names = trained_;
  }
  for (const auto& name : names) {
    const auto tensor = get(name, replica);
    XXH3_64bits_update(state.get(), tensor.raw(), tensor.bytes());
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(state.get())));
  return text;
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

UpdateCounter& ParameterStore::counter(const ParameterRef& ref) {
  std::lock_guard lock(mutex_);
  return *find(ref).counter;
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  end_dirty("the run was given up");
  store_ = std::exchange(other.store_, nullptr);
  read_ = std::move(other.read_);
  written_ = std::move(other.written_);
  return *this;
}

void Lease::end_clean() {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  std::exchange(store_, nullptr)->give_back(*this);
}

void Lease::end_dirty(const std::string& reason) {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  store_->break_copies(*this, reason, false);
  std::exchange(store_, nullptr)->give_back(*this);
}

void Lease::abandon(const std::string& reason) {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  store_->break_copies(*this, reason, true);
  std::exchange(store_, nullptr)->give_back(*this);
}

}  // namespace troupe
