#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe::local {

/// Why no collective of a group can complete any more. Set once.
class Abort {
 public:
  void set(const std::string& reason);
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  /// Throws Error with the reason, if there is one.
  void check() const;

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> set_{false};
  std::string reason_;
};

/// What all ranks must agree on in one collective.
struct CallSignature {
  std::string name;
  DType dtype = DType::float32;
  std::int64_t elements = 0;
  int root = 0;

  bool operator==(const CallSignature&) const = default;
};

std::string to_string(const CallSignature& signature);

/// The place where the ranks of one collective meet. Each goes through three phases: arrived (its tensors may be read),
/// reduced (it has written what others copy), copied (it reads nothing of others any more). A phase is complete when
/// all ranks have passed it; whoever passes last tells the others.
class Meeting {
 public:
  enum Phase { arrived, reduced, copied, kPhases };

  explicit Meeting(int ranks) : inputs(ranks), phases_passed_(ranks), listeners_(ranks) {}

  /// Rank's tensor, readable by all once the phase `arrived` is complete.
  std::vector<Tensor> inputs;

  void listen(int rank, std::function<void()> listener) { listeners_[rank] = std::move(listener); }
  void pass(int rank, Phase phase);
  bool complete(Phase phase) const {
    return passed_[phase].load(std::memory_order_acquire) == static_cast<int>(inputs.size());
  }
  /// The first rank that has not passed the phase, or -1.
  int missing(Phase phase) const;
  /// Calls the listeners of all ranks but one.
  void notify(int but) const;

  std::int64_t number = 0;
  CallSignature signature;
  int first_rank = -1;

 private:
  std::array<std::atomic<int>, kPhases> passed_{};
  std::vector<std::atomic<int>> phases_passed_;  // by rank
  std::vector<std::function<void()>> listeners_;
};

}  // namespace troupe::local
