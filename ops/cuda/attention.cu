#include <algorithm>
#include <memory>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/cuda/attention.cuh"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/product.hpp"

namespace troupe::cuda {

namespace {

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
