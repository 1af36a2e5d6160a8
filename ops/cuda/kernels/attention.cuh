#pragma once

#include <algorithm>
#include <cmath>

#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/softmax.cuh"

namespace troupe::cuda {

/// The most memory for scores: the rows of the batch are computed in chunks whose scores fit.
inline constexpr std::int64_t kMaxScoreBytes = std::int64_t{256} << 20;

/// A causal attention is computed in at most kMaxCausalBlocks blocks of at least kMinCausalBlock queries, each with the
/// keys that one of its queries sees. The launches of more blocks would cost more than the products that they save.
inline constexpr std::int64_t kMaxCausalBlocks = 4, kMinCausalBlock = 128;

/// The sizes of a call. Scores are [rows of a chunk, heads, queries, keys] in memory.
struct Attention {
  std::int64_t rows, queries, keys, heads, key_size, value_size, chunk;
  std::int64_t block;  // queries that are computed together
  bool causal, mask_of_rows;
  float factor;

  Attention(const OpCall& call, const Shape& q, const Shape& v, const TensorInfo* mask)
      : rows(q[0]),
        queries(q[1]),
        keys(v[1]),
        heads(call.attributes.integer("heads")),
        key_size(q[2] / heads),
        value_size(v[2] / heads),
        block(queries),
        causal(call.attributes.flag("causal")),
        mask_of_rows(mask != nullptr && mask->shape.rank() == 3),
        factor(1.0F / std::sqrt(static_cast<float>(key_size))) {
    const auto bytes_of_row = heads * queries * keys * static_cast<std::int64_t>(sizeof(float));
    chunk = std::clamp<std::int64_t>(kMaxScoreBytes / bytes_of_row, 1, rows);
    if (causal) block = causal_block(queries);
  }

  static std::int64_t causal_block(std::int64_t queries) {
    const auto queries_of_block = (queries + kMaxCausalBlocks - 1) / kMaxCausalBlocks;
    return (queries_of_block + kMinCausalBlock - 1) / kMinCausalBlock * kMinCausalBlock;
  }
  std::size_t score_bytes() const {
    return MemoryPool::rounded(static_cast<std::size_t>(heads * chunk * queries * keys) * sizeof(float));
  }
};

/// One query of one head of one row: a row of the scores.
struct Query {
  std::int64_t head, row, query;  // the row is counted from the first one of the chunk
};

/// The layout and the mask of scores, as arguments of kernels.
struct Scores {
  std::int64_t heads, chunk_rows, first_row, queries, keys, block;
  bool causal, mask_of_rows;
  const std::uint8_t* mask;
  float* numbers;

  Scores(const Attention& a, std::int64_t first, std::int64_t rows, const Tensor* mask_tensor, float* scores)
      : heads(a.heads),
        chunk_rows(rows),
        first_row(first),
        queries(a.queries),
        keys(a.keys),
        block(a.block),
        causal(a.causal),
        mask_of_rows(a.mask_of_rows),
        mask(mask_tensor == nullptr ? nullptr : data_of<std::uint8_t>(*mask_tensor)),
        numbers(scores) {}

  std::int64_t count() const { return heads * chunk_rows * queries; }
  __device__ Query query(std::int64_t i) const {
    const auto row = i / queries;
    return {row % heads, row / heads, i % queries};
  }
  /// The number of keys that products read of a query's scores: those that the query's block sees.
  __device__ std::int64_t keys_of(const Query& q) const {
    if (!causal) return keys;
    const auto end = (q.query / block + 1) * block;
    return end < keys ? end : keys;
  }
  /// Whether a query sees a key.
  __device__ bool sees(const Query& q, std::int64_t key) const {
    if (causal && key > q.query) return false;
    const auto row = mask_of_rows ? (first_row + q.row) * queries : 0;
    return mask == nullptr || mask[(row + q.query) * keys + key] != 0;
  }
  /// The index of a query's log sum in [rows, heads, queries].
  __device__ std::int64_t place(const Query& q) const {
    return ((first_row + q.row) * heads + q.head) * queries + q.query;
  }
};

/// Replaces scores by probabilities, and stores the logarithms of the sums of exponentials. A query that sees no key
/// has probabilities 0 and an infinite logarithm, so that the probabilities are 0 for the gradient, too.
struct SoftmaxScores {
  Scores scores;
  float* log_sums;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto q = scores.query(i);
    auto* x = scores.numbers + i * scores.keys;
    const auto keys = scores.keys_of(q);
    const Largest larger{};
    float largest = Largest::kNone;
    for (std::int64_t key = threads.lane(); key < keys; key += Threads::kCount)
      if (scores.sees(q, key)) largest = larger(largest, x[key]);
    largest = threads.reduce(largest, larger);
    const bool sees_any = largest != Largest::kNone;
    float sum = 0.0F;
    for (std::int64_t key = threads.lane(); key < keys; key += Threads::kCount) {
      x[key] = sees_any && scores.sees(q, key) ? expf(x[key] - largest) : 0.0F;
      sum += x[key];
    }
    sum = threads.sum(sum);
    for (std::int64_t key = threads.lane(); key < keys && sees_any; key += Threads::kCount) x[key] /= sum;
    if (threads.lane() == 0) log_sums[scores.place(q)] = sees_any ? largest + logf(sum) : -Largest::kNone;
  }
};

/// Computes the probabilities again from the scores and the logarithms of the sums.
struct ProbabilitiesAgain {
  Scores scores;
  const float* log_sums;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto q = scores.query(i);
    auto* x = scores.numbers + i * scores.keys;
    const auto keys = scores.keys_of(q);
    const float log_sum = log_sums[scores.place(q)];
    for (std::int64_t key = threads.lane(); key < keys; key += Threads::kCount)
      x[key] = scores.sees(q, key) ? expf(x[key] - log_sum) : 0.0F;
  }
};

/// Replaces the gradients of the probabilities by the gradients of the scores.
struct ScoresGrad {
  Scores scores;  // holds the gradients of the probabilities
  const float *probabilities, *dy, *y;
  std::int64_t value_size;
  float factor;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto q = scores.query(i);
    const auto at = (((scores.first_row + q.row) * scores.queries + q.query) * scores.heads + q.head) * value_size;
    const float along = row_sum(threads, value_size, RowProducts{dy + at, y + at});
    auto* dp = scores.numbers + i * scores.keys;
    const auto keys = scores.keys_of(q);
    const auto* p = probabilities + i * scores.keys;
    for (std::int64_t key = threads.lane(); key < keys; key += Threads::kCount)
      dp[key] = p[key] * (dp[key] - along) * factor;
  }
};

}  // namespace troupe::cuda
