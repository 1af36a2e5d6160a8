#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

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
