#include "troupe/actors/store/lease.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store_state.hpp"

namespace troupe {

Lease ParameterStore::borrow(std::vector<ParameterRef> read, std::vector<ParameterRef> written,
                             const std::string& borrower, const std::vector<HeldParameter>& held) {
  std::unique_lock lock(state_->mutex);
  auto changed = state_->behind(read);
  changed.insert(changed.end(), written.begin(), written.end());
  state_->wait_for_accesses(lock, changed);
  for (const auto& ref : read) state_->check_unwritten(ref);
  for (const auto& ref : written) state_->check_free(ref, true);
  for (const auto* refs : {&read, &written})
    for (const auto& ref : *refs) state_->check_whole(ref);
  // The wait has released the mutex, so other copies may be behind now.
  for (const auto* refs : {&read, &written}) state_->refresh(*refs);
  if (!written.empty()) ++state_->changes;
  Lease lease;
  lease.store_ = this;
  lease.read_ = std::move(read);
  for (auto& ref : lease.read_) ++state_->find(ref).readers;
  for (const auto& ref : written) {
    auto& copy = state_->find(ref);
    copy.writer = borrower;
    Lease::Written of_run{ref, copy.counter->updates()};
    for (const auto& part : held) {
      if (part.ref != ref) continue;
      of_run.held = true;
      of_run.needs_whole_run |= part.needs_whole_run;
      of_run.counters.push_back(copy.counter_of(part.rows));
      if (part.equal_updates) of_run.compared.push_back(of_run.counters.back());
    }
    if (!of_run.held) of_run.compared = of_run.counters = {copy.counter};
    copy.begin_apart();
    lease.written_.push_back(std::move(of_run));
  }
  return lease;
}

bool Lease::Written::has_been_updated() const {
  return std::ranges::any_of(counters, [this](const auto& counter) { return counter->updates() != updates_before; });
}

std::vector<Lease::Borrowed> Lease::borrowed() const {
  std::vector<Borrowed> borrowed;
  if (store_ == nullptr) return borrowed;
  const auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  const auto add = [&](const ParameterRef& ref, std::optional<std::int64_t> before) {
    if (state.parameters.at(ref.name).per_replica) return;
    const auto& copy = state.find(ref);
    borrowed.push_back({ref, copy.lineage});
    if (before && state.parameters.at(ref.name).trainable) borrowed.back().updates = copy.counter->updates() - *before;
  };
  for (const auto& ref : read_) add(ref, {});
  for (const auto& written : written_) add(written.ref, written.updates_before);
  return borrowed;
}

namespace {

/// A number that no copy of any store of this process has had as its lineage.
std::uint64_t new_lineage() {
  static std::atomic<std::uint64_t> lineages{0};
  return ++lineages;
}

}  // namespace

void Lease::give_back() {
  auto& state = *std::exchange(store_, nullptr)->state_;
  for (const auto& ref : read_) --state.find(ref).readers;
  for (const auto& written : written_) {
    auto& copy = state.find(written.ref);
    copy.writer.clear();
    copy.end_apart();
    if (copies_differ_) copy.lineage = new_lineage();
  }
  state.access_over.notify_all();
}

void Lease::end_broken(const std::string& reason, End end, const std::set<Group>& torn) {
  if (store_ == nullptr) return;
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  ++state.changes;
  auto broken = torn;
  for (const auto& [group, updates] : updates_locked())
    if (updates.numbers.size() > 1) broken.insert(group);
  for (const auto& written : written_) {
    auto& copy = state.find(written.ref);
    copy.abandoned = end == End::abandoned || copy.may_still_be_written();
    const bool is_unfinished = end == End::given_up && written.needs_whole_run && written.has_been_updated();
    if (!copy.is_being_updated() && !copy.abandoned && !is_unfinished) continue;
    copy.broken = reason;
    if (!written.is_separate()) broken.insert(written.group());
  }
  for (const auto& written : written_)
    if (!written.is_separate() && broken.contains(written.group())) state.find(written.ref).broken = reason;
  give_back();
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  give_up("the run was given up");
  store_ = std::exchange(other.store_, nullptr);
  read_ = std::move(other.read_);
  written_ = std::move(other.written_);
  copies_differ_ = other.copies_differ_;
  return *this;
}

void Lease::end_clean() {
  if (store_ == nullptr) return;
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  if (!written_.empty()) ++state.changes;
  for (const auto& written : written_)
    if (auto& copy = state.find(written.ref); copy.is_being_updated()) copy.broken = "an update of it has failed";
  give_back();
}

Lease::UpdatesByGroup Lease::updates_locked() const {
  UpdatesByGroup updates;
  for (const auto& written : written_) {
    if (written.is_separate()) continue;
    auto& of_group = updates[written.group()];
    of_group.copies.insert(written.ref);
    for (const auto& counter : written.compared) of_group.numbers.insert(counter->updates() - written.updates_before);
  }
  return updates;
}

Lease::UpdatesByGroup Lease::updates() const {
  if (store_ == nullptr) return {};
  std::lock_guard lock(store_->state_->mutex);
  return updates_locked();
}

}  // namespace troupe
