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
  /// Sets the failure unless one is set already. Returns whether this call has set it.
  bool set(FailurePtr failure);
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  /// Returns the failure that was set, or null.
  FailurePtr failure() const;
  /// Throws Aborted with the failure that was set, if any.
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

/// Returns a text such as `all_reduce of 16 float32`, `broadcast of 16 float32 from rank 0` or `barrier`.
std::string to_string(const CallSignature& signature);

/// Returns the signature of a collective in which rank `rank` of `ranks` has these tensors. Throws Error if `root` is
/// not in 0 to `ranks` - 1, or if the sizes or dtypes of input and output do not fit the kind.
CallSignature signature_of(CollectiveKind kind, const Tensor& input, const Tensor& output, int rank, int ranks,
                           int root);

/// Returns the failure of a group in which two ranks have begun different collectives as collective number `number`:
/// rank `first_rank` with the signature `first`, and rank `second_rank` with `second`. Its text names both.
FailurePtr disagreement(std::int64_t number, const CallSignature& first, int first_rank, const CallSignature& second,
                        int second_rank);

/// A range of the elements of a tensor.
struct Slice {
  std::int64_t first, count;
};

/// Returns the slice of `elements` elements that belongs to rank `rank` of `ranks`. Slices begin at multiples of 16
/// elements, a cache line of float32, so that two ranks do not write to the same line. The last slices may be shorter
/// or empty.
Slice slice_of(std::int64_t elements, int ranks, int rank);

/// Returns a view of the elements of a slice: a tensor of one axis that shares the memory of `tensor`.
Tensor part_of(const Tensor& tensor, const Slice& slice);

/// Throws Error unless `rank` is in 0 to `ranks` - 1.
void expect_rank(int rank, int ranks);
/// Throws Error if a tensor that rank `from` sent differs in dtype or number of bytes from the tensor into which rank
/// `to` receives it.
void expect_alike(const Tensor& sent, int from, const Tensor& expected, int to);

}  // namespace troupe
