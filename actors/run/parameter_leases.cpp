#include <algorithm>
#include <chrono>

#include "troupe/actors/run/parameter_store.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// A reader that is in the middle of a prediction when a run begins.
constexpr std::chrono::seconds kAccessLimit{10};

}  // namespace

/// Waits, for a limited time, until no ParameterReader is reading the copies.
void ParameterStore::wait_for_accesses(std::unique_lock<std::mutex>& lock,
                                       const std::vector<ParameterRef>& refs) const {
  access_over_.wait_for(lock, kAccessLimit, [&] {
    return std::ranges::all_of(refs, [&](const ParameterRef& ref) { return find(ref).accesses == 0; });
  });
}

void ParameterStore::refresh(const ParameterRef& ref) {
  auto& copy = find(ref);
  const auto* newest = newest_whole(parameters_.at(ref.name));
  if (newest == nullptr || newest->counter->updates() == copy.counter->updates()) return;
  // Another run that writes the newest copy leaves it at a step boundary only when it ends.
  if (!newest->writer.empty()) return;
  copy_and_wait(newest->tensor, copy.tensor);
  copy.counter->updates_ = newest->counter->updates();
}

Lease ParameterStore::borrow(std::vector<ParameterRef> read, std::vector<ParameterRef> written,
                             const std::string& borrower) {
  std::unique_lock lock(mutex_);
  wait_for_accesses(lock, written);
  for (const auto* refs : {&read, &written})
    for (const auto& ref : *refs) check_free(ref, refs == &written);
  for (const auto* refs : {&read, &written})
    for (const auto& ref : *refs) check_whole(ref);
  for (const auto* refs : {&read, &written})
    for (const auto& ref : *refs) refresh(ref);
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

void ParameterStore::break_copies(const Lease& lease, const std::string& reason, bool abandoned,
                                  const std::set<int>& torn) {
  ++changes_;
  auto broken = torn;
  for (const auto& [replica, updates] : lease.updates_locked())
    if (updates.size() > 1) broken.insert(replica);
  for (const auto& [ref, before] : lease.written_) {
    auto& copy = find(ref);
    copy.abandoned = abandoned || copy.counter->abandoned();
    if (copy.counter->writing() || copy.abandoned) broken.insert(ref.replica);
  }
  for (const auto& [ref, before] : lease.written_)
    if (broken.contains(ref.replica)) find(ref).broken = reason;
}

std::string ParameterStore::describe_broken() const {
  std::map<int, std::string> reasons;
  bool recoverable = true;
  for (const auto& [name, parameter] : parameters_) {
    for (const auto& [replica, copy] : parameter.copies)
      if (!copy.broken.empty()) reasons[replica] = copy.broken;
    recoverable = recoverable && newest_whole(parameter) != nullptr;
  }
  std::string text;
  for (const auto& [replica, reason] : reasons)
    text += (text.empty() ? "" : "; ") + std::string("the parameters of replica ") + std::to_string(replica) +
            " may be half-written: " + reason;
  if (text.empty()) return text;
  return text + (recoverable ? "; recover() goes on from the newest whole replica, or set them from a checkpoint"
                             : "; no replica is whole, so set them from a checkpoint");
}

std::string ParameterStore::broken() const {
  std::lock_guard lock(mutex_);
  return describe_broken();
}

void ParameterStore::recover() {
  std::unique_lock lock(mutex_);
  for (const auto& [name, parameter] : parameters_) {
    if (newest_whole(parameter) == nullptr) throw Error("store", describe_broken());
    for (const auto& [replica, copy] : parameter.copies)
      if (!copy.broken.empty()) check_free({name, replica}, true);
  }
  ++changes_;
  for (auto& [name, parameter] : parameters_) {
    const auto* newest = newest_whole(parameter);
    const Version version{newest->counter->updates(), newest->tensor};
    for (auto& [replica, copy] : parameter.copies) {
      if (copy.broken.empty()) continue;
      // Whatever the failed run may still do, it does to the old tensor.
      copy.abandoned = true;
      restore(copy, parameter.info, version);
    }
  }
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
  if (!written_.empty()) ++store_->changes_;
  std::exchange(store_, nullptr)->give_back(*this);
}

void Lease::end_dirty(const std::string& reason, const std::set<int>& torn) {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  store_->break_copies(*this, reason, false, torn);
  std::exchange(store_, nullptr)->give_back(*this);
}

void Lease::abandon(const std::string& reason) {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  store_->break_copies(*this, reason, true, {});
  std::exchange(store_, nullptr)->give_back(*this);
}

std::map<int, std::set<std::int64_t>> Lease::updates_locked() const {
  std::map<int, std::set<std::int64_t>> updates;
  for (const auto& [ref, before] : written_) updates[ref.replica].insert(store_->find(ref).counter->updates() - before);
  return updates;
}

std::map<int, std::set<std::int64_t>> Lease::updates() const {
  if (store_ == nullptr) return {};
  std::lock_guard lock(store_->mutex_);
  return updates_locked();
}

}  // namespace troupe
