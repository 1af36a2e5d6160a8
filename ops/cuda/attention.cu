#include <algorithm>
#include <cmath>
#include <memory>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/product.hpp"
#include "troupe/ops/cuda/softmax.cuh"

namespace troupe::cuda {

namespace {

/// Scores of so many rows of the batch as take this much are worked on at a time.
constexpr std::int64_t kMostScoreBytes = std::int64_t{256} << 20;

/// The sizes of a call. Scores lie in memory as [heads, rows of a chunk, queries, keys].
struct Attention {
  std::int64_t rows, queries, keys, heads, key_size, value_size, chunk;
  bool causal, mask_of_rows;
  float factor;

  Attention(const OpCall& call, const Shape& q, const Shape& v, const TensorInfo* mask)
      : rows(q[0]),
        queries(q[1]),
        keys(v[1]),
        heads(call.attributes.integer("heads")),
        key_size(q[2] / heads),
        value_size(v[2] / heads),
        causal(call.attributes.flag("causal")),
        mask_of_rows(mask != nullptr && mask->shape.rank() == 3),
        factor(1.0F / std::sqrt(static_cast<float>(key_size))) {
    const auto bytes_of_row = heads * queries * keys * static_cast<std::int64_t>(sizeof(float));
    chunk = std::clamp<std::int64_t>(kMostScoreBytes / bytes_of_row, 1, rows);
  }

  std::int64_t scores_of(std::int64_t chunk_rows) const { return heads * chunk_rows * queries * keys; }
  std::size_t score_bytes() const {
    return MemoryPool::rounded(static_cast<std::size_t>(scores_of(chunk)) * sizeof(float));
  }
};

/// Matrices of the heads: of [rows, places, heads * size], or of the scores.
struct HeadMatrices {
  std::int64_t stride, ld, of_head;  // from row to row of the batch, from place to place, from head to head
};

/// One product for every row of a chunk and every head.
class HeadProducts {
 public:
  enum class Transpose { none, a, b };

  HeadProducts(const Attention& a, std::int64_t m, std::int64_t n, std::int64_t k, Transpose transpose, float factor,
               HeadMatrices x, HeadMatrices y, HeadMatrices z)
      : heads_(a.heads), chunk_(a.chunk), x_(x), y_(y), z_(z) {
    ProductShape shape;
    shape.m = m;
    shape.n = n;
    shape.k = k;
    shape.transpose_a = transpose == Transpose::a;
    shape.transpose_b = transpose == Transpose::b;
    shape.factor = factor;
    shape.tf32 = matmul_precision() == MatmulPrecision::tf32;
    shape.ld_a = x.ld;
    shape.ld_b = y.ld;
    shape.ld_y = z.ld;
    shape.stride_a = x.stride;
    shape.stride_b = y.stride;
    shape.stride_y = z.stride;
    shape.batch = a.chunk;
    of_chunk_ = std::make_unique<Product>(shape);
    shape.batch = a.rows % a.chunk;
    if (shape.batch > 0) of_last_ = std::make_unique<Product>(shape);
  }

  std::size_t workspace_bytes() const {
    return std::max(of_chunk_->workspace_bytes(), of_last_ == nullptr ? 0 : of_last_->workspace_bytes());
  }

  /// Of `rows` rows. Where scores take part, their heads lie `rows` matrices apart.
  void run(const Launch& where, std::int64_t rows, const float* x, const float* y, float* z, void* workspace) const {
    const auto& product = rows == chunk_ ? *of_chunk_ : *of_last_;
    const auto offset = [rows](const HeadMatrices& m, std::int64_t head) {
      return head * (m.of_head == 0 ? rows * m.stride : m.of_head);
    };
    for (std::int64_t head = 0; head < heads_; ++head)
      product.run(where.stream, x + offset(x_, head), y + offset(y_, head), nullptr, z + offset(z_, head), workspace);
  }

 private:
  std::int64_t heads_, chunk_;
  HeadMatrices x_, y_, z_;
  std::unique_ptr<Product> of_chunk_, of_last_;
};

HeadMatrices of_keys(const Attention& a, std::int64_t places) {
  return {places * a.heads * a.key_size, a.heads * a.key_size, a.key_size};
}
HeadMatrices of_values(const Attention& a, std::int64_t places) {
  return {places * a.heads * a.value_size, a.heads * a.value_size, a.value_size};
}
HeadMatrices of_scores(const Attention& a) {
  return {a.queries * a.keys, a.keys, 0};
}

/// One query of one head of one row: a row of the scores.
struct Query {
  std::int64_t head, row, query;  // the row counts from the first one of the chunk
};

/// What the kernels on scores know of them.
struct Scores {
  std::int64_t heads, chunk_rows, first_row, queries, keys;
  bool causal, mask_of_rows;
  const std::uint8_t* mask;
  float* numbers;

  Scores(const Attention& a, std::int64_t first, std::int64_t rows, const Tensor* mask_tensor, float* scores)
      : heads(a.heads),
        chunk_rows(rows),
        first_row(first),
        queries(a.queries),
        keys(a.keys),
        causal(a.causal),
        mask_of_rows(a.mask_of_rows),
        mask(mask_tensor == nullptr ? nullptr : data_of<std::uint8_t>(*mask_tensor)),
        numbers(scores) {}

  std::int64_t count() const { return heads * chunk_rows * queries; }
  __device__ Query query(std::int64_t i) const {
    const auto row = i / queries;
    return {row / chunk_rows, row % chunk_rows, i % queries};
  }
  /// Whether a query sees a key.
  __device__ bool sees(const Query& q, std::int64_t key) const {
    if (causal && key > q.query) return false;
    const auto row = mask_of_rows ? (first_row + q.row) * queries : 0;
    return mask == nullptr || mask[(row + q.query) * keys + key] != 0;
  }
  /// Where the logarithm of the sum of a query's exponentials lies in [rows, heads, queries].
  __device__ std::int64_t place(const Query& q) const {
    return ((first_row + q.row) * heads + q.head) * queries + q.query;
  }
};

/// Probabilities in place of scores, and the logarithms of the sums. A query that sees no key has probabilities 0, and
/// an infinite logarithm, so that they are 0 for the gradient, too.
struct SoftmaxScores {
  Scores scores;
  float* log_sums;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto q = scores.query(i);
    auto* x = scores.numbers + i * scores.keys;
    const Largest larger{};
    float largest = Largest::kNone;
    for (std::int64_t key = threads.lane(); key < scores.keys; key += Threads::kCount)
      if (scores.sees(q, key)) largest = larger(largest, x[key]);
    largest = threads.reduce(largest, larger);
    const bool sees_any = largest != Largest::kNone;
    float sum = 0.0F;
    for (std::int64_t key = threads.lane(); key < scores.keys; key += Threads::kCount) {
      x[key] = sees_any && scores.sees(q, key) ? expf(x[key] - largest) : 0.0F;
      sum += x[key];
    }
    sum = threads.sum(sum);
    for (std::int64_t key = threads.lane(); key < scores.keys && sees_any; key += Threads::kCount) x[key] /= sum;
    if (threads.lane() == 0) log_sums[scores.place(q)] = sees_any ? largest + logf(sum) : -Largest::kNone;
  }
};

/// The probabilities again, from scores and logarithms of sums.
struct ProbabilitiesAgain {
  Scores scores;
  const float* log_sums;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto q = scores.query(i);
    auto* x = scores.numbers + i * scores.keys;
    const float log_sum = log_sums[scores.place(q)];
    for (std::int64_t key = threads.lane(); key < scores.keys; key += Threads::kCount)
      x[key] = scores.sees(q, key) ? expf(x[key] - log_sum) : 0.0F;
  }
};

/// From the gradients of the probabilities those of the scores, in place.
struct ScoresGrad {
  Scores scores;  // those gradients
  const float *probabilities, *dy, *y;
  std::int64_t value_size;
  float factor;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto q = scores.query(i);
    const auto at = (((scores.first_row + q.row) * scores.queries + q.query) * scores.heads + q.head) * value_size;
    const float along = row_sum(threads, value_size, RowProducts{dy + at, y + at});
    auto* dp = scores.numbers + i * scores.keys;
    const auto* p = probabilities + i * scores.keys;
    for (std::int64_t key = threads.lane(); key < scores.keys; key += Threads::kCount)
      dp[key] = p[key] * (dp[key] - along) * factor;
  }
};

const float* rows_from(const Tensor& tensor, std::int64_t row) {
  return floats(tensor) + row * tensor.shape().row_elements();
}
float* mutable_rows_from(const Tensor& tensor, std::int64_t row) {
  return mutable_floats(tensor) + row * tensor.shape().row_elements();
}

template <class Visit>
void for_each_chunk(const Attention& a, Visit visit) {
  for (std::int64_t first = 0; first < a.rows; first += a.chunk) visit(first, std::min(a.chunk, a.rows - first));
}

using Transpose = HeadProducts::Transpose;

class Forward {
 public:
  explicit Forward(const Attention& a)
      : a_(a),
        scores_(a, a.queries, a.keys, a.key_size, Transpose::b, a.factor, of_keys(a, a.queries), of_keys(a, a.keys),
                of_scores(a)),
        result_(a, a.queries, a.value_size, a.keys, Transpose::none, 1.0F, of_scores(a), of_values(a, a.keys),
                of_values(a, a.queries)) {}

  std::size_t scratch_bytes() const {
    return a_.score_bytes() + std::max(scores_.workspace_bytes(), result_.workspace_bytes());
  }

  void run(const Launch& where, Inputs in, Outputs out) const {
    auto* s = reinterpret_cast<float*>(where.scratch);
    auto* workspace = where.scratch + a_.score_bytes();
    for_each_chunk(a_, [&](std::int64_t first, std::int64_t rows) {
      scores_.run(where, rows, rows_from(in[0], first), rows_from(in[1], first), s, workspace);
      const Scores scores(a_, first, rows, in.size() == 4 ? &in[3] : nullptr, s);
      for_each_row(where, scores.count(), a_.keys, SoftmaxScores{scores, mutable_floats(out[1])});
      result_.run(where, rows, s, rows_from(in[2], first), mutable_rows_from(out[0], first), workspace);
    });
  }

 private:
  Attention a_;
  HeadProducts scores_, result_;
};

// Inputs: dy, q, k, v, y, log sums, and perhaps a mask.
class Backward {
 public:
  explicit Backward(const Attention& a)
      : a_(a),
        scores_(a, a.queries, a.keys, a.key_size, Transpose::b, a.factor, of_keys(a, a.queries), of_keys(a, a.keys),
                of_scores(a)),
        dp_(a, a.queries, a.keys, a.value_size, Transpose::b, 1.0F, of_values(a, a.queries), of_values(a, a.keys),
            of_scores(a)),
        dq_(a, a.queries, a.key_size, a.keys, Transpose::none, 1.0F, of_scores(a), of_keys(a, a.keys),
            of_keys(a, a.queries)),
        dk_(a, a.keys, a.key_size, a.queries, Transpose::a, 1.0F, of_scores(a), of_keys(a, a.queries),
            of_keys(a, a.keys)),
        dv_(a, a.keys, a.value_size, a.queries, Transpose::a, 1.0F, of_scores(a), of_values(a, a.queries),
            of_values(a, a.keys)) {}

  std::size_t scratch_bytes() const {
    std::size_t workspace = 0;
    for (const auto* products : {&scores_, &dp_, &dq_, &dk_, &dv_})
      workspace = std::max(workspace, products->workspace_bytes());
    return 2 * a_.score_bytes() + workspace;
  }

  void run(const Launch& where, Inputs in, Outputs out) const {
    auto* p = reinterpret_cast<float*>(where.scratch);
    auto* ds = reinterpret_cast<float*>(where.scratch + a_.score_bytes());
    auto* workspace = where.scratch + 2 * a_.score_bytes();
    const auto* mask = in.size() == 7 ? &in[6] : nullptr;
    for_each_chunk(a_, [&](std::int64_t first, std::int64_t rows) {
      const auto *dy = rows_from(in[0], first), *q = rows_from(in[1], first), *k = rows_from(in[2], first);
      scores_.run(where, rows, q, k, p, workspace);
      const Scores probabilities(a_, first, rows, mask, p), gradients(a_, first, rows, mask, ds);
      for_each_row(where, probabilities.count(), a_.keys, ProbabilitiesAgain{probabilities, floats(in[5])});
      dp_.run(where, rows, dy, rows_from(in[3], first), ds, workspace);
      for_each_row(where, gradients.count(), a_.keys,
                   ScoresGrad{gradients, p, floats(in[0]), floats(in[4]), a_.value_size, a_.factor});
      dq_.run(where, rows, ds, k, mutable_rows_from(out[0], first), workspace);
      dk_.run(where, rows, ds, q, mutable_rows_from(out[1], first), workspace);
      dv_.run(where, rows, p, dy, mutable_rows_from(out[2], first), workspace);
    });
  }

 private:
  Attention a_;
  HeadProducts scores_, dp_, dq_, dk_, dv_;
};

template <class Direction>
std::unique_ptr<Kernel> make_direction(const OpCall& call, const Attention& attention) {
  const auto direction = std::make_shared<const Direction>(attention);
  return cuda_kernel(
      call, [direction](const Launch& where, Inputs in, Outputs out) { direction->run(where, in, out); },
      direction->scratch_bytes());
}

}  // namespace

std::unique_ptr<Kernel> make_attention(const OpCall& call) {
  const auto* mask = call.inputs.size() == 4 ? &call.inputs[3] : nullptr;
  return make_direction<Forward>(call, {call, call.inputs[0].shape, call.inputs[2].shape, mask});
}
std::unique_ptr<Kernel> make_attention_grad(const OpCall& call) {
  const auto* mask = call.inputs.size() == 7 ? &call.inputs[6] : nullptr;
  return make_direction<Backward>(call, {call, call.inputs[1].shape, call.inputs[3].shape, mask});
}

}  // namespace troupe::cuda
