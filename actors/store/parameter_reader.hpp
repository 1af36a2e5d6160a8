#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

struct PublishedVersion;

/// Reads the same copies of parameters again and again. While a fit writes to one of the copies, reads the version that
/// the fit has published; see StepBoundaries. An access costs little if nothing has changed since the last access.
/// Keeps the store alive. Not thread-safe, but several readers of one store may be used at the same time.
class ParameterReader {
 public:
  /// If a published version is older than `refresh`, an access asks for a new one, and does not wait for it. Throws
  /// Error if the store lacks one of the copies.
  ParameterReader(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs,
                  std::chrono::milliseconds refresh);

  using Access = std::unique_ptr<ParameterReader, void (*)(ParameterReader*)>;
  /// Borrows the copies for reading, and brings each to the value of the newest copy of its parameter. If a fit writes
  /// to one of them, takes the newest published version instead; the first access in a fit waits for it, at most 60 s.
  /// No run can borrow the copies for writing while the result lives. Throws Error if a copy is broken, or if a run
  /// that belongs to no fit writes to one of the copies, or a fit that the calling thread drives.
  [[nodiscard]] Access access();

  /// The tensors of the last access(), in the order of `refs`.
  std::span<const Tensor> tensors() const { return tensors_; }
  /// The number of calls of access() at which tensors() or their elements may have changed.
  std::uint64_t version() const { return version_; }
  /// The time since the step boundary at which the tensors of the last access() had these elements; 0 if no fit wrote
  /// to them at that access.
  std::chrono::nanoseconds age() const;

 private:
  bool await_current_copies(std::unique_lock<std::mutex>& lock) const;
  void read_published();
  void leave();

  std::shared_ptr<ParameterStore> store_;
  std::vector<ParameterRef> refs_;
  std::chrono::milliseconds refresh_;
  std::vector<ParameterStore::Copy*> copies_;
  std::vector<Tensor> tensors_;
  std::shared_ptr<const PublishedVersion> published_;  // null if the last access was to the copies
  std::uint64_t seen_changes_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace troupe
