#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

struct PublishedValue;
struct ReadCopies;

/// Reads the same copies of parameters again and again. While a fit that uses one of the parameters is in a run, reads
/// the version that the fit has published; see StepBoundaries. Values never go back in time. An access costs little if
/// nothing has changed since the last access. Keeps the store alive. Not thread-safe, but several readers of one store
/// may be used at the same time.
class ParameterReader {
 public:
  /// If a published version is older than `refresh`, an access asks for a new one, and does not wait for it. Throws
  /// Error if the store lacks one of the copies.
  ParameterReader(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs,
                  std::chrono::milliseconds refresh);

  using Access = std::unique_ptr<ParameterReader, void (*)(ParameterReader*)>;
  /// Borrows the copies for reading, and brings each to the value of the newest copy of its parameter. If a fit that
  /// uses one of the parameters is in a run, takes the newest published version instead; the first access in a fit
  /// waits for it, at most 60 s, as does the first one after a value was set. If several fits use the parameters, the
  /// values of each fit are of one of its boundaries. No run can borrow the copies for writing while the result lives,
  /// unless a version was taken. Throws Error if a copy is broken, or if a run writes to one of the copies that belongs
  /// to no fit or to one that the calling thread drives. Throws Error, too, if a fit has failed to copy a version: once
  /// if there is a version before, which later accesses take.
  [[nodiscard]] Access access();

  /// The tensors of the last access(), in the order of `refs`.
  std::span<const Tensor> tensors() const { return tensors_; }
  /// The number of calls of access() at which tensors() or their elements may have changed.
  std::uint64_t version() const { return version_; }
  /// The time since the step boundary at which the tensors of the last access() had these elements, since the first
  /// one if they are of several fits; 0 if no fit that uses one of the parameters was in a run at that access.
  std::chrono::nanoseconds age() const;

 private:
  bool await_current_copies(std::unique_lock<std::mutex>& lock) const;
  void read_copies();
  void read_version();
  std::set<std::string> outdated() const;
  void leave();

  std::shared_ptr<ParameterStore> store_;
  std::shared_ptr<const ReadCopies> read_;
  std::chrono::milliseconds refresh_;
  std::vector<ParameterStore::Copy*> copies_;
  std::vector<Tensor> tensors_;
  std::vector<std::shared_ptr<PublishedValue>> values_;  // read by the last access; empty if it read the copies
  std::vector<int*> accesses_;                           // the counts that an access raises, in copies or values
  std::chrono::steady_clock::time_point boundary_;       // the earliest one of `values_`
  std::uint64_t seen_changes_ = 0;                       // 0 if the last access was to a version
  std::uint64_t seen_versions_ = 0;                      // 0 if the last access was to the copies
  std::uint64_t version_ = 0;
};

}  // namespace troupe
