#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/store/update_counter.hpp"

namespace troupe {

/// The copies of parameters that a run has borrowed. After a failed run the written copies of a replica are whole if
/// all have had the same number of updates and each update has ended; otherwise all are broken, that is they cannot be
/// used until ParameterStore::recover() or set(). Copies that external actors hold with HeldParameter::equal_updates
/// are a group of their own in this regard. Other copies that external actors hold are separate: a separate copy does
/// not depend on others.
class Lease {
 public:
  /// The copies of a replica that get equally many updates in a run. `held` is false for the copies that ops update,
  /// and true for those that external actors hold with HeldParameter::equal_updates.
  struct Group {
    int replica;
    bool held;

    auto operator<=>(const Group&) const = default;
  };

  Lease() = default;
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { give_up("the run was given up"); }

  /// Gives the copies back to the store after a run that has succeeded. A copy is broken if an update of it has begun
  /// and not ended.
  void end_clean();
  /// Gives the copies back to the store after a run that has failed, and in which all actors have finished. `torn` has
  /// the groups whose numbers of updates differ between this store and others. The written copies of these groups are
  /// broken in any case.
  void end_dirty(const std::string& reason, const std::set<Group>& torn = {}) { end_broken(reason, End::failed, torn); }
  /// Like end_dirty(), for a run whose actors were stopped before they had finished; see
  /// HeldParameter::needs_whole_run.
  void give_up(const std::string& reason, const std::set<Group>& torn = {}) { end_broken(reason, End::given_up, torn); }
  /// The written copies of a group, and the numbers of updates that they have had under a lease: a single number if all
  /// copies have had the same number.
  struct GroupUpdates {
    std::set<ParameterRef> copies;
    std::set<std::int64_t> numbers;
  };
  using UpdatesByGroup = std::map<Group, GroupUpdates>;
  UpdatesByGroup updates() const;
  /// A borrowed copy. Copies of a parameter with one lineage have equal values.
  struct Borrowed {
    ParameterRef ref;
    std::uint64_t lineage;
    /// The number of updates that the copy has had under this lease, if it is one of a trained parameter and was
    /// borrowed to write. States have no number: one of a part of a parameter may be a copy of its own.
    std::optional<std::int64_t> updates = {};
  };
  /// The borrowed copies, except states that every replica has for itself (PlanParameter::per_replica).
  std::vector<Borrowed> borrowed() const;
  /// Declares that the run does not keep its copies of a parameter equal: each written copy gets a lineage of its own
  /// when the run ends.
  void lets_copies_differ() { copies_differ_ = true; }
  /// Gives the copies of a run that was given up, and may still write, back to the store. All written copies are
  /// broken.
  void abandon(const std::string& reason) { end_broken(reason, End::abandoned, {}); }

 private:
  friend class ParameterStore;
  struct Written {
    ParameterRef ref;
    std::int64_t updates_before;
    // The counters of the copy, or of the rows of it that are held, and those of the group.
    std::vector<std::shared_ptr<const UpdateCounter>> counters = {}, compared = {};
    bool held = false, needs_whole_run = false;

    bool is_separate() const { return compared.empty(); }
    Group group() const { return {ref.replica, held}; }
    bool has_been_updated() const;
  };
  UpdatesByGroup updates_locked() const;
  enum class End { failed, given_up, abandoned };
  void end_broken(const std::string& reason, End end, const std::set<Group>& torn);
  void give_back();

  ParameterStore* store_ = nullptr;
  std::vector<ParameterRef> read_;
  std::vector<Written> written_;
  bool copies_differ_ = false;
};

}  // namespace troupe
