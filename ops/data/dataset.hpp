#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Rows of a batch that one replica works on.
struct BatchPart {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// The part of replica `replica` of a batch: the first replicas take ceil(rows / replicas) each, the last what is left,
/// perhaps nothing.
BatchPart part_of_batch(std::int64_t rows, int replicas, int replica);

/// Labelled examples in memory and the way through them. A value: shuffle(), batch() and prefetch() return a changed
/// copy that shares the examples.
class Dataset {
 public:
  /// `features` uint8 or float32 [N, ...], `labels` int32[N] with values below `classes`. A batch holds float32
  /// `features * scale + shift`. Throws Error if the counts differ or a label is out of range.
  Dataset(Tensor features, Tensor labels, std::int32_t classes, float scale = 1.0F, float shift = 0.0F);

  /// Shuffles anew every epoch: each example is drawn from a buffer of `buffer` examples that is refilled in order.
  Dataset shuffle(std::int64_t buffer) const;
  /// `rows` examples to a (global) batch; the last one of an epoch may have fewer.
  Dataset batch(std::int64_t rows) const;
  /// Loads up to `batches` batches ahead on another thread. 0: every replica loads its part when it needs it, on its
  /// own thread, which keeps the batch in that core's cache.
  Dataset prefetch(std::int64_t batches) const;
  /// Only the first `rows` examples.
  Dataset take(std::int64_t rows) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t batch_rows() const { return batch_; }
  std::int64_t prefetched() const { return prefetch_; }
  std::int64_t batches() const { return (rows_ + batch_ - 1) / batch_; }
  std::int32_t classes() const { return examples_->classes; }
  /// Shape of the features of a batch: [B, ...].
  Shape feature_shape() const;

  /// The order of the examples in an epoch.
  std::vector<std::int32_t> order(std::uint64_t seed, std::int64_t epoch) const;
  /// Writes the given examples into features float32 [rows, ...] and labels int32[rows].
  void gather(std::span<const std::int32_t> examples, const Tensor& features, const Tensor& labels) const;

 private:
  struct Examples {
    Tensor features, labels;
    std::int32_t classes;
    float scale, shift;
  };
  std::shared_ptr<const Examples> examples_;
  std::int64_t rows_ = 0;
  std::int64_t batch_ = 1;
  std::int64_t prefetch_ = 0;
  std::int64_t shuffle_buffer_ = 0;
};

}  // namespace troupe
