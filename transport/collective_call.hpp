#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/collective_kind.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

/// The reason why no collective of a group can complete any more. Set once; thread-safe.
class Abort {
 public:
  /// Keeps the first failure. Returns false if one was set before.
  bool set(FailurePtr failure);
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  /// Null if there is none.
  FailurePtr failure() const;
  /// Throws Aborted with the failure, if there is one.
  void check() const {
    if (is_set()) throw Aborted(failure());
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> set_{false};
  FailurePtr failure_;
};

/// The properties of one collective that all ranks must agree on.
struct CallSignature {
  CollectiveKind kind = CollectiveKind::barrier;
  DType dtype = DType::uint8;
  std::int64_t elements = 0;
  int root = 0;

  bool operator==(const CallSignature&) const = default;
};

/// `all_reduce of 16 float32`.
std::string to_string(const CallSignature& signature);

/// The signature of a collective with these tensors of a rank. Throws Error if there is no rank `root`, or if the sizes
/// of the tensors do not fit the kind.
CallSignature signature_of(CollectiveKind kind, const Tensor& input, const Tensor& output, int rank, int ranks,
                           int root);

/// The failure of a group whose ranks do not agree on collective number `number`.
FailurePtr disagreement(std::int64_t number, const CallSignature& first, int first_rank, const CallSignature& second,
                        int second_rank);

/// Part of the elements of a tensor.
struct Slice {
  std::int64_t first, count;
};

/// The share of rank `rank` of `elements`. It ends at the end of a cache line of float32, so that ranks do not write to
/// the same line.
Slice slice_of(std::int64_t elements, int ranks, int rank);

/// The elements of a slice of a tensor, as a tensor of one axis.
Tensor part_of(const Tensor& tensor, const Slice& slice);

/// Throws Error if there is no such rank.
void expect_rank(int rank, int ranks);
/// Throws Error if a tensor that rank `from` sent does not fit into what rank `to` expects.
void expect_alike(const Tensor& sent, int from, const Tensor& expected, int to);

}  // namespace troupe
