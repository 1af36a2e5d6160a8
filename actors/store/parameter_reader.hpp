#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

/// Borrows the same copies to read again and again, at little cost as long as nobody writes in between. It keeps the
/// store alive. Not thread-safe; several readers of one store may be used at once.
class ParameterReader {
 public:
  /// Throws Error if a copy is not in the store.
  ParameterReader(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs);

  /// The copies are borrowed to read as long as it lives: no run can write to them.
  class Access {
   public:
    explicit Access(ParameterReader& reader) : reader_(reader) { reader_.enter(); }
    ~Access() { reader_.leave(); }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    ParameterReader& reader_;
  };

  /// The copies, in the order of the references, as they were at the last access.
  std::span<const Tensor> tensors() const { return tensors_; }
  /// Counts the accesses at which tensors() may have become others.
  std::uint64_t version() const { return version_; }

 private:
  /// Throws Error if a run writes to a copy, or one is broken. Copies that are behind are brought up to date.
  void enter();
  void leave();

  std::shared_ptr<ParameterStore> store_;
  std::vector<ParameterRef> refs_;
  std::vector<ParameterStore::Copy*> copies_;
  std::vector<Tensor> tensors_;
  std::uint64_t seen_changes_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace troupe
