#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/softmax.cuh"

namespace troupe::cuda {

/// The most bytes of scores: the rows of the batch are computed in chunks whose scores fit into this memory. A chunk
/// has at least one row, even if the scores of one row do not fit.
inline constexpr std::int64_t kMaxScoreBytes = std::int64_t{256} << 20;

/// The queries of a causal attention are divided into at most kMaxCausalBlocks blocks of at least kMinCausalBlock
/// queries, of which the last may be smaller. A block is computed only with the keys that some query of the block sees.
/// More blocks would leave out more of the scores that causality hides, but their launches would cost more than that
/// saves.
inline constexpr std::int64_t kMaxCausalBlocks = 4, kMinCausalBlock = 128;

/// The sizes of an attention. `chunk` is the number of rows of the batch that are computed together. The scores of a
/// chunk are an array [rows of the chunk, heads, queries, keys]. `mask_of_rows` says whether each row of the batch has
/// a mask of its own.
struct Attention {
  std::int64_t rows, queries, keys, heads, key_size, value_size, chunk;
  std::int64_t block;  // number of queries that are computed together
  bool causal, mask_of_rows;
  float factor;

  /// Reads the sizes of a call whose inputs from number `first` on are q, k and v. The mask, if there is one, must be
  /// input number `mask`.
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

  /// The number of scores of a chunk.
  std::int64_t scores() const { return heads * chunk * queries * keys; }
};

/// The layout of a batch of matrices of an attention, one for every head of every row of a chunk. A chunk consists of
/// the rows of the batch that are computed together. `stride` is the distance between neighboring matrices, and `ld`
/// that between the rows of a matrix, both in elements.
struct HeadMatrices {
  std::int64_t stride, ld;
};

/// One query of one head of one row of the batch. Its scores are a row of the array of scores.
struct Query {
  std::int64_t head, row, query;  // the row is counted from the first one of the chunk
};

/// The scores of a chunk, as an argument of kernels.
struct Scores {
  Attention sizes;
  std::int64_t first_row, chunk_rows;
  const std::uint8_t* mask;  // uint8, 0 where a query must not see a key; null: no mask
  float* numbers;

  std::int64_t count() const { return sizes.heads * chunk_rows * sizes.queries; }
  __device__ Query query(std::int64_t i) const {
    const auto row = i / sizes.queries;
    return {row % sizes.heads, row / sizes.heads, i % sizes.queries};
  }
  /// Returns the number of scores of a query that products write and read: those of the keys that any query of its
  /// block sees.
  __device__ std::int64_t keys_of(const Query& q) const {
    if (!sizes.causal) return sizes.keys;
    const auto end = (q.query / sizes.block + 1) * sizes.block;
    return end < sizes.keys ? end : sizes.keys;
  }
  /// Whether a query sees a key: causality and the mask may hide it.
  __device__ bool sees(const Query& q, std::int64_t key) const {
    if (sizes.causal && key > q.query) return false;
    const auto row = sizes.mask_of_rows ? (first_row + q.row) * sizes.queries : 0;
    return mask == nullptr || mask[(row + q.query) * sizes.keys + key] != 0;
  }
  /// Returns the index of a query in the array [rows, heads, queries] of the log sums. The log sum of a query is the
  /// logarithm of the sum of the exponentials of its scores.
  __device__ std::int64_t place(const Query& q) const {
    return ((first_row + q.row) * sizes.heads + q.head) * sizes.queries + q.query;
  }
};

/// Replaces scores by probabilities, and stores the log sums. A query that sees no key, or only keys with a score of
/// -infinity, has probabilities 0. Its log sum is set to infinity, so that ProbabilitiesAgain gives 0, too.
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

/// Replaces scores by probabilities, computed from the log sums that SoftmaxScores has stored.
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

/// Corrects the products y of the scores, or of other numbers in their place, and the keys or values x. A key to which
/// a query does not attend has the number 0, and 0 times infinity is a NaN. Computes each element of y that is not
/// finite again, without these keys. x and y are the matrices of the first head, with `size` columns.
struct LeaveOutHiddenKeys {
  Scores scores;
  const float* x;
  HeadMatrices of_x;
  float* y;
  HeadMatrices of_y;
  std::int64_t size;

  std::int64_t count() const { return scores.count() * size; }
  __device__ void operator()(std::int64_t i) const {
    const auto row = i / size, column = i % size;
    const auto q = scores.query(row);
    const auto head = q.row * scores.sizes.heads + q.head;
    auto& element = y[head * of_y.stride + q.query * of_y.ld + column];
    constexpr float kLargest = std::numeric_limits<float>::max();
    if (fabsf(element) <= kLargest) return;
    const auto* numbers = scores.numbers + row * scores.sizes.keys;
    const auto keys = scores.keys_of(q);
    float sum = 0.0F;
    for (std::int64_t key = 0; key < keys; ++key)
      if (scores.sees(q, key)) sum += numbers[key] * x[head * of_x.stride + key * of_x.ld + column];
    element = sum;
  }
};

/// Replaces the gradients of a query's probabilities by those of the products of the query and the keys. These include
/// `factor`, by which the products are multiplied to give the scores. The gradient is 0 where the probability is 0.
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
      dp[key] = p[key] == 0.0F ? 0.0F : p[key] * (dp[key] - along) * sizes.factor;
  }
};

}  // namespace troupe::cuda
