#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"

namespace troupe {

class ParameterStore;

/// The copies that a run has borrowed. After a failed run the written copies are checked: the copies of a replica are
/// whole if all have had the same number of updates, and broken otherwise. Copies that users' actors hold are whole
/// unless an update of them has not ended.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { end_dirty("the run was given up"); }

  /// The run has succeeded.
  void end_clean();
  /// The run has failed, and no longer writes. The copies of `torn` replicas, whose updates differ between this store
  /// and others, are broken in any case.
  void end_dirty(const std::string& reason, const std::set<int>& torn = {}) { end_broken(reason, false, torn); }
  /// For each replica, the numbers of updates of its copies under this lease: a single number if they are whole.
  std::map<int, std::set<std::int64_t>> updates() const;
  /// The run was given up, and may still write.
  void abandon(const std::string& reason) { end_broken(reason, true, {}); }

 private:
  friend class ParameterStore;
  struct Written {
    ParameterRef ref;
    std::int64_t updates_before;
    bool alone;  // its number of updates may differ from the others'
  };
  std::map<int, std::set<std::int64_t>> updates_locked() const;
  void end_broken(const std::string& reason, bool abandoned, const std::set<int>& torn);
  void give_back();

  ParameterStore* store_ = nullptr;
  std::vector<ParameterRef> read_;
  std::vector<Written> written_;
};

}  // namespace troupe
