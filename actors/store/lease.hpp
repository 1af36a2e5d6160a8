#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"

namespace troupe {

class ParameterStore;

/// What a run has borrowed. If it is not given back clean, the copies it could write are checked: those of a replica
/// whose updates are all at the same count are whole, the others are broken. Copies that users' actors hold are whole
/// unless an update of them has not ended.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { end_dirty("the run was given up"); }

  /// The run has ended as it should.
  void end_clean();
  /// The run has failed; nobody writes any more. The copies of the replicas that are `torn`, between this store and
  /// others, are broken in any case.
  void end_dirty(const std::string& reason, const std::set<int>& torn = {});
  /// By replica, how often its copies were updated under this lease: one number if they are whole.
  std::map<int, std::set<std::int64_t>> updates() const;
  /// The run was given up and may still write some day.
  void abandon(const std::string& reason);

 private:
  friend class ParameterStore;
  struct Written {
    ParameterRef ref;
    std::int64_t updates_before;
    bool alone;  // whole or broken whatever becomes of the others
  };
  std::map<int, std::set<std::int64_t>> updates_locked() const;
  void break_copies(const std::string& reason, bool abandoned, const std::set<int>& torn);
  void give_back();

  ParameterStore* store_ = nullptr;
  std::vector<ParameterRef> read_;
  std::vector<Written> written_;
};

}  // namespace troupe
