#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/store/lease.hpp"

namespace troupe {

/// The leases of the parameters that a run uses, one for each part of the plan in this process.
class RunLeases {
 public:
  RunLeases() = default;
  /// Throws Error if `equal_copies` is true and two copies of a parameter are of different versions. If it is false,
  /// the copies may differ after the run. See Strategy::equal_copies.
  RunLeases(std::vector<Lease> leases, std::optional<bool> equal_copies);

  bool empty() const { return leases_.empty(); }
  /// Ends the leases of a run in which all actors have finished. Throws Error if the copies must be equal and one
  /// replica has made other numbers of updates than another.
  void end_clean();
  /// Ends the leases of a run that has failed because of `reason`, and in which all actors have finished. If a group
  /// (Lease::Group) has copies in several parts, its copies are broken if the parts have made different numbers of
  /// updates.
  void end_dirty(const std::string& reason);
  /// The copies that the last end_dirty() has given back, and their numbers of updates in the failed run.
  const Lease::UpdatesByGroup& failed_updates() const { return failed_updates_; }
  /// Like end_dirty(), for a run whose actors were stopped before they had finished; see
  /// HeldParameter::needs_whole_run.
  void give_up(const std::string& reason);
  /// Gives the leases up while actors may still write.
  void abandon(const std::string& reason);

 private:
  Lease::UpdatesByGroup updates() const;

  std::vector<Lease> leases_;
  Lease::UpdatesByGroup failed_updates_;
  bool equal_copies_ = false;
};

}  // namespace troupe
