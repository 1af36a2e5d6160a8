#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/store/parameter_store.hpp"

// The ways to borrow copies of a ParameterStore: for a run, and for reading again and again.

namespace troupe {

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

/// Borrows the same copies for reading again and again, at little cost if no run has written in between. Keeps the
/// store alive. Not thread-safe, but several readers of one store may be used at once.
class ParameterReader {
 public:
  /// Throws Error if the store does not have a copy.
  ParameterReader(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs);

  using Access = std::unique_ptr<ParameterReader, void (*)(ParameterReader*)>;
  /// Borrows the copies for reading, and updates copies that are behind: no run can write to them while the result
  /// lives. Throws Error if a run writes to a copy, or one is broken.
  [[nodiscard]] Access access();

  /// The copies at the last access, in the order of the references.
  std::span<const Tensor> tensors() const { return tensors_; }
  /// Counts the accesses at which tensors() may have changed.
  std::uint64_t version() const { return version_; }

 private:
  void leave();

  std::shared_ptr<ParameterStore> store_;
  std::vector<ParameterRef> refs_;
  std::vector<ParameterStore::Copy*> copies_;
  std::vector<Tensor> tensors_;
  std::uint64_t seen_changes_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace troupe
