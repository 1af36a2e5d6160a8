#pragma once

#include <algorithm>
#include <cmath>

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

  /// q, k and v are three inputs from `first` on. The mask, if there is one, is input number `mask`.
  Attention(const OpCall& call, std::size_t first, std::size_t mask)
      : heads(call.attributes.integer("heads")),
        causal(call.attributes.flag("causal")),
        mask_of_rows(call.inputs.size() > mask && call.inputs[mask].shape.rank() == 3) {
    const auto &q = call.inputs[first].shape, &v = call.inputs[first + 2].shape;
    rows = q[0];
    queries = q[1];
    keys = v[1];
    key_size = q[2] / heads;
    value_size = v[2] / heads;
    factor = 1.0F / std::sqrt(static_cast<float>(key_size));
    const auto bytes_of_row = heads * queries * keys * static_cast<std::int64_t>(sizeof(float));
    chunk = std::clamp<std::int64_t>(kMaxScoreBytes / bytes_of_row, 1, rows);
    block = causal ? divided_up(divided_up(queries, kMaxCausalBlocks), kMinCausalBlock) * kMinCausalBlock : queries;
  }

  /// The scores of a chunk.
  std::int64_t scores() const { return heads * chunk * queries * keys; }
};

/// One query of one head of one row: a row of the scores.
struct Query {
  std::int64_t head, row, query;  // the row is counted from the first one of the chunk
};

/// The scores of some rows, as arguments of kernels.
struct Scores {
  Attention sizes;
  std::int64_t first_row, chunk_rows;
  const std::uint8_t* mask;  // or null
  float* numbers;

  std::int64_t count() const { return sizes.heads * chunk_rows * sizes.queries; }
  __device__ Query query(std::int64_t i) const {
    const auto row = i / sizes.queries;
    return {row % sizes.heads, row / sizes.heads, i % sizes.queries};
  }
  /// The number of keys that products read of a query's scores: the keys that the query's block sees.
  __device__ std::int64_t keys_of(const Query& q) const {
    if (!sizes.causal) return sizes.keys;
    const auto end = (q.query / sizes.block + 1) * sizes.block;
    return end < sizes.keys ? end : sizes.keys;
  }
  /// Whether a query sees a key.
  __device__ bool sees(const Query& q, std::int64_t key) const {
    if (sizes.causal && key > q.query) return false;
    const auto row = sizes.mask_of_rows ? (first_row + q.row) * sizes.queries : 0;
    return mask == nullptr || mask[(row + q.query) * sizes.keys + key] != 0;
  }
  /// The index of a query's log sum in [rows, heads, queries].
  __device__ std::int64_t place(const Query& q) const {
    return ((first_row + q.row) * sizes.heads + q.head) * sizes.queries + q.query;
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
    auto* x = scores.numbers + i * scores.sizes.keys;
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
    auto* x = scores.numbers + i * scores.sizes.keys;
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

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto& sizes = scores.sizes;
    const auto q = scores.query(i);
    const auto at = (((scores.first_row + q.row) * sizes.queries + q.query) * sizes.heads + q.head) * sizes.value_size;
    const float along = row_sum(threads, sizes.value_size, RowProducts{dy + at, y + at});
    auto* dp = scores.numbers + i * scores.sizes.keys;
    const auto keys = scores.keys_of(q);
    const auto* p = probabilities + i * sizes.keys;
    for (std::int64_t key = threads.lane(); key < keys; key += Threads::kCount)
      dp[key] = p[key] * (dp[key] - along) * sizes.factor;
  }
};

}  // namespace troupe::cuda
