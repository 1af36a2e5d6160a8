#include "troupe/actors/spawn/run_leases.hpp"

#include <map>
#include <set>
#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Throws Error if two of the borrowed copies of a parameter are of different versions.
void expect_equal_copies(const std::vector<Lease>& leases) {
  std::map<std::string, Lease::Borrowed> first;
  for (const auto& lease : leases)
    for (const auto& copy : lease.borrowed()) {
      const auto& other = first.try_emplace(copy.ref.name, copy).first->second;
      if (other.lineage != copy.lineage)
        throw Error("store", "replicas " + std::to_string(other.ref.replica) + " and " +
                                 std::to_string(copy.ref.replica) + " have different copies of '" + copy.ref.name +
                                 "', and this plan needs equal ones: ParameterStore::keep() makes them equal");
    }
}

/// Throws Error if one replica has made other numbers of updates than another. `updates` has the numbers by replica.
void expect_equal_updates(const std::map<int, std::set<std::int64_t>>& updates) {
  for (const auto& [replica, counts] : updates)
    if (counts != updates.begin()->second)
      throw Error("store", "replica " + std::to_string(replica) + " has made " + std::to_string(*counts.rbegin()) +
                               " updates and replica " + std::to_string(updates.begin()->first) + " " +
                               std::to_string(*updates.begin()->second.rbegin()) +
                               ", but the strategy says that their copies are equal (Strategy::equal_copies)");
}

std::set<Lease::Group> torn_in(const Lease::UpdatesByGroup& updates) {
  std::set<Lease::Group> torn;
  for (const auto& [group, of_group] : updates)
    if (of_group.numbers.size() > 1) torn.insert(group);
  return torn;
}

}  // namespace

RunLeases::RunLeases(std::vector<Lease> leases, std::optional<bool> equal_copies)
    : leases_(std::move(leases)), equal_copies_(equal_copies.value_or(false)) {
  if (equal_copies_) expect_equal_copies(leases_);
  if (!equal_copies.value_or(true))
    for (auto& lease : leases_) lease.lets_copies_differ();
}

void RunLeases::end_clean() {
  std::map<int, std::set<std::int64_t>> updates;
  for (auto& lease : leases_) {
    for (const auto& copy : lease.borrowed())
      if (copy.updates) updates[copy.ref.replica].insert(*copy.updates);
    lease.end_clean();
  }
  leases_.clear();
  if (equal_copies_) expect_equal_updates(updates);
}

Lease::UpdatesByGroup RunLeases::updates() const {
  Lease::UpdatesByGroup all;
  for (const auto& lease : leases_)
    for (const auto& [group, of_lease] : lease.updates()) {
      auto& [copies, numbers] = all[group];
      copies.insert(of_lease.copies.begin(), of_lease.copies.end());
      numbers.insert(of_lease.numbers.begin(), of_lease.numbers.end());
    }
  return all;
}

void RunLeases::end_dirty(const std::string& reason) {
  failed_updates_ = updates();
  const auto torn = torn_in(failed_updates_);
  for (auto& lease : leases_) lease.end_dirty(reason, torn);
  leases_.clear();
}

void RunLeases::give_up(const std::string& reason) {
  const auto torn = torn_in(updates());
  for (auto& lease : leases_) lease.give_up(reason, torn);
  leases_.clear();
}

void RunLeases::abandon(const std::string& reason) {
  for (auto& lease : leases_) lease.abandon(reason);
}

}  // namespace troupe
