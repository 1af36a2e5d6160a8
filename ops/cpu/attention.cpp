#include <dnnl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"
#include "troupe/ops/cpu/onednn.hpp"

namespace troupe::cpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// The number of queries in a block, which are computed together. It is small enough that the scores of a block stay in
// the cache, and that a causal block computes few scores of keys to which a query does not attend.
constexpr std::int64_t kBlock = 64;

/// A row-major matrix inside a larger array: its first element, and the distance from one row to the next in elements.
struct Rows {
  float* data;
  std::int64_t stride;
};

/// Computes c = factor * a * b + keep * c, where c is [m, n]. a is [m, k] if transpose_a is 'N', or [k, m] if it is
/// 'T'; b is [k, n] if transpose_b is 'N', or [n, k] if it is 'T'. Throws Error if oneDNN fails.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float factor, char transpose_a, Rows a, char transpose_b,
              Rows b, float keep, Rows c) {
  const auto status =
      dnnl_sgemm(transpose_a, transpose_b, m, n, k, factor, a.data, a.stride, b.data, b.stride, keep, c.data, c.stride);
  if (status != dnnl_success) throw Error("attention", "oneDNN's product failed with status " + std::to_string(status));
}

/// Whether all elements of a matrix with `rows` rows and `columns` columns are finite.
TROUPE_SIMD_CLONES bool are_finite(std::int64_t rows, std::int64_t columns, Rows x) {
  constexpr std::int32_t kExponent = 0x7f800000;  // all bits of the exponent are set if a float is not finite
  std::int32_t not_finite = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k)
      not_finite |= (std::bit_cast<std::int32_t>(x.data[i * x.stride + k]) & kExponent) == kExponent ? 1 : 0;
  return not_finite == 0;
}

/// Replaces n scores by their softmax, and returns the logarithm of the sum of their exponentials. If all scores are
/// minus infinity, they become 0 and infinity is returned, so that the gradient, in which probabilities() subtracts
/// this infinity, gets zeros, too.
TROUPE_SIMD_CLONES float softmax_row(std::int64_t n, float* x) {
  const float largest = lane_max(n, x);
  if (largest == -kInfinity) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = 0.0F;
    return kInfinity;
  }
  for (std::int64_t i = 0; i < n; ++i) x[i] = exp_or_zero(x[i] - largest);
  const float sum = lane_sum(n, [x](std::int64_t i) { return x[i]; });
  const float factor = 1.0F / sum;
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
  return largest + std::log(sum);
}

/// Replaces n scores by the softmax that softmax_row() has computed from them. `log_sum` is the number it has returned.
TROUPE_SIMD_CLONES void probabilities(std::int64_t n, float log_sum, float* x) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = exp_or_zero(x[i] - log_sum);
}

/// Replaces the gradient dp of the probabilities p of one query by the gradient of its scores. `along` is the sum of p
/// * dp over the keys, and `factor` the factor 1 / sqrt(D) in the scores. The gradient of a score whose probability is
/// 0 is 0, even if dp is not finite.
TROUPE_SIMD_CLONES void scores_grad(std::int64_t n, const float* p, float along, float factor, float* dp) {
  for (std::int64_t i = 0; i < n; ++i) dp[i] = p[i] == 0.0F ? 0.0F : p[i] * (dp[i] - along) * factor;
}

TROUPE_SIMD_CLONES float dot(std::int64_t n, const float* a, const float* b) {
  return lane_sum(n, [a, b](std::int64_t i) { return a[i] * b[i]; });
}

/// Queries `first` to `end - 1` of one row of the batch and one head. These queries attend to no keys but the first
/// `seen`: `end` keys if attention is causal, else all keys.
struct Block {
  std::int64_t row, head, first, end, seen;
  std::int64_t queries() const { return end - first; }
};

/// The sizes of a call of attention or attention_grad, and access to the parts of the call's tensors that belong to a
/// block.
struct Attention {
  std::int64_t rows, queries, keys, heads, key_size, value_size;
  bool causal, has_mask, mask_of_rows;
  float factor;

  Attention(const OpCall& call, const Shape& q, const Shape& v, const TensorInfo* mask)
      : rows(q[0]),
        queries(q[1]),
        keys(v[1]),
        heads(call.attributes.integer("heads")),
        key_size(q[2] / heads),
        value_size(v[2] / heads),
        causal(call.attributes.flag("causal")),
        has_mask(mask != nullptr),
        mask_of_rows(mask != nullptr && mask->shape.rank() == 3),
        factor(1.0F / std::sqrt(static_cast<float>(key_size))) {}

  std::size_t scores_bytes() const { return static_cast<std::size_t>(kBlock * keys) * sizeof(float); }

  /// The matrix of the row and head of a block in a tensor [rows, positions, heads * size], from `position` on.
  Rows matrix(const Tensor& tensor, const Block& block, std::int64_t position = 0) const {
    const auto positions = tensor.shape()[1], width = tensor.shape()[2];
    return {mutable_floats(tensor) + (block.row * positions + position) * width + block.head * (width / heads), width};
  }
  /// For the row and head of a block, the logarithms of the sums of exponentials in output 1 of attention, by query.
  float* log_sums(const Tensor& tensor, const Block& block) const {
    return mutable_floats(tensor) + (block.row * heads + block.head) * queries;
  }

  /// Computes the scores of a block into s [block.queries(), block.seen].
  void scores(const Block& block, const Tensor& q, const Tensor& k, float* s) const {
    multiply(block.queries(), block.seen, key_size, factor, 'N', matrix(q, block, block.first), 'T', matrix(k, block),
             0.0F, {s, block.seen});
  }

  /// For every query i of a block: sets the scores of masked keys to minus infinity, calls visit(i, scores of the
  /// query, n), where n is i + 1 if attention is causal, else the number of keys, and sets the scores from n on to 0. A
  /// null `mask` masks no key.
  template <class Visit>
  void for_each_query(const Block& block, const Tensor* mask, float* s, Visit visit) const {
    for (std::int64_t i = block.first; i < block.end; ++i, s += block.seen) {
      if (mask != nullptr) {
        const auto* allowed =
            elements<const std::uint8_t>(*mask) + ((mask_of_rows ? block.row * queries : 0) + i) * keys;
        for (std::int64_t j = 0; j < block.seen; ++j) s[j] = allowed[j] != 0 ? s[j] : -kInfinity;
      }
      const auto visible = causal ? i + 1 : keys;
      visit(i, s, visible);
      std::fill(s + visible, s + block.seen, 0.0F);
    }
  }

  /// Whether query `i` of a row attends to key `j`.
  bool sees(std::int64_t row, const Tensor* mask, std::int64_t i, std::int64_t j) const {
    if (causal && j > i) return false;
    if (mask == nullptr) return true;
    return elements<const std::uint8_t>(*mask)[((mask_of_rows ? row * queries : 0) + i) * keys + j] != 0;
  }

  /// Corrects y = w * x for the queries of a block, where w [block.queries(), block.seen] is 0 for the keys to which a
  /// query does not attend: 0 times infinity is a NaN. Computes each element of y that is not finite again, without
  /// these keys. x and y have `size` columns.
  void leave_out_hidden_keys(const Block& block, const Tensor* mask, const float* w, Rows x, std::int64_t size,
                             Rows y) const {
    if (are_finite(block.queries(), size, y)) return;
    for (std::int64_t i = 0; i < block.queries(); ++i)
      for (std::int64_t d = 0; d < size; ++d) {
        auto& element = y.data[i * y.stride + d];
        if (std::isfinite(element)) continue;
        element = 0.0F;
        for (std::int64_t j = 0; j < block.seen; ++j)
          if (sees(block.row, mask, block.first + i, j)) element += w[i * block.seen + j] * x.data[j * x.stride + d];
      }
  }

  template <class Visit>
  void for_each_block(Visit visit) const {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t head = 0; head < heads; ++head)
        for (std::int64_t first = 0; first < queries; first += kBlock) {
          const auto end = std::min(queries, first + kBlock);
          visit(Block{row, head, first, end, causal ? end : keys});
        }
  }
};

/// The kernel of attention.
class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const OpCall& call)
      : a_(call, call.inputs[0].shape, call.inputs[2].shape, call.inputs.size() == 4 ? &call.inputs[3] : nullptr) {}

  std::size_t scratch_bytes() const override { return a_.scores_bytes(); }

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    onednn_engine();
    auto* s = reinterpret_cast<float*>(context.scratch);
    const auto* mask = a_.has_mask ? &in[3] : nullptr;
    a_.for_each_block([&](const Block& block) {
      auto* log_sums = a_.log_sums(out[1], block);
      const auto values = a_.matrix(in[2], block), y = a_.matrix(out[0], block, block.first);
      a_.scores(block, in[0], in[1], s);
      a_.for_each_query(block, mask, s,
                        [&](auto i, float* scores, auto count) { log_sums[i] = softmax_row(count, scores); });
      multiply(block.queries(), a_.value_size, block.seen, 1.0F, 'N', {s, block.seen}, 'N', values, 0.0F, y);
      a_.leave_out_hidden_keys(block, mask, s, values, a_.value_size, y);
    });
  }

 private:
  Attention a_;
};

// The kernel of attention_grad. Inputs: dy, queries, keys, values, the two outputs of attention, and optionally a mask.
class AttentionGradKernel final : public Kernel {
 public:
  explicit AttentionGradKernel(const OpCall& call)
      : a_(call, call.inputs[1].shape, call.inputs[3].shape, call.inputs.size() == 7 ? &call.inputs[6] : nullptr) {}

  std::size_t scratch_bytes() const override { return 2 * a_.scores_bytes(); }

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    onednn_engine();
    auto* p = reinterpret_cast<float*>(context.scratch);
    auto* ds = p + kBlock * a_.keys;
    for (std::size_t i = 1; i < 3; ++i) std::ranges::fill(out[i].mutable_data<float>(), 0.0F);
    a_.for_each_block([&](const Block& block) {
      recompute(in, block, p);
      differentiate_scores(in, block, p, ds);
      accumulate(in, out, block, p, ds);
    });
  }

 private:
  void recompute(Inputs in, const Block& block, float* p) const {
    const auto* log_sums = a_.log_sums(in[5], block);
    a_.scores(block, in[1], in[2], p);
    a_.for_each_query(block, a_.has_mask ? &in[6] : nullptr, p,
                      [&](auto i, float* scores, auto count) { probabilities(count, log_sums[i], scores); });
  }

  void differentiate_scores(Inputs in, const Block& block, const float* p, float* ds) const {
    const auto dy = a_.matrix(in[0], block, block.first), y = a_.matrix(in[4], block, block.first);
    multiply(block.queries(), block.seen, a_.value_size, 1.0F, 'N', dy, 'T', a_.matrix(in[3], block), 0.0F,
             {ds, block.seen});
    for (std::int64_t i = 0; i < block.queries(); ++i) {
      const auto along = dot(a_.value_size, dy.data + i * dy.stride, y.data + i * y.stride);
      scores_grad(block.seen, p + i * block.seen, along, a_.factor, ds + i * block.seen);
    }
  }

  void accumulate(Inputs in, Outputs out, const Block& block, float* p, float* ds) const {
    const auto seen = block.seen, count = block.queries();
    const auto keys = a_.matrix(in[2], block), dq = a_.matrix(out[0], block, block.first);
    multiply(count, a_.key_size, seen, 1.0F, 'N', {ds, seen}, 'N', keys, 0.0F, dq);
    a_.leave_out_hidden_keys(block, a_.has_mask ? &in[6] : nullptr, ds, keys, a_.key_size, dq);
    multiply(seen, a_.key_size, count, 1.0F, 'T', {ds, seen}, 'N', a_.matrix(in[1], block, block.first), 1.0F,
             a_.matrix(out[1], block));
    multiply(seen, a_.value_size, count, 1.0F, 'T', {p, seen}, 'N', a_.matrix(in[0], block, block.first), 1.0F,
             a_.matrix(out[2], block));
  }

  Attention a_;
};

}  // namespace

std::unique_ptr<Kernel> make_attention(const OpCall& call) {
  return std::make_unique<AttentionKernel>(call);
}
std::unique_ptr<Kernel> make_attention_grad(const OpCall& call) {
  return std::make_unique<AttentionGradKernel>(call);
}

}  // namespace troupe::cpu
