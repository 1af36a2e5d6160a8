#include <dnnl.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/exp.hpp"
#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"
#include "troupe/ops/cpu/onednn.hpp"

namespace troupe::cpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// The number of queries that are computed together: small enough that a causal block computes few scores beyond the
// diagonal, and that its scores stay in the cache.
constexpr std::int64_t kBlock = 64;

/// A row-major matrix inside a larger array: its first element, and the distance from one row to the next.
struct Rows {
  const float* data;
  std::int64_t stride;
};

/// Computes c [m, n] = factor a b + keep c. a is [m, k] or, transposed, [k, m]; b is [k, n] or, transposed, [n, k].
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float factor, char transpose_a, Rows a, char transpose_b,
              Rows b, float keep, float* c, std::int64_t c_stride) {
  const auto status =
      dnnl_sgemm(transpose_a, transpose_b, m, n, k, factor, a.data, a.stride, b.data, b.stride, keep, c, c_stride);
  if (status != dnnl_success) throw Error("attention", "oneDNN's product failed with status " + std::to_string(status));
}

/// Replaces scores by their exponentials divided by the sum of these, and returns the logarithm of the sum. If no score
/// is above minus infinity, the result is all 0 and the logarithm infinity, so that the gradient's probabilities are 0,
/// too.
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

TROUPE_SIMD_CLONES void probabilities(std::int64_t n, float log_sum, float* x) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = exp_or_zero(x[i] - log_sum);
}

/// Replaces the gradient of a row's probabilities by the gradient of its scores.
TROUPE_SIMD_CLONES void scores_grad(std::int64_t n, const float* p, float along, float factor, float* dp) {
  for (std::int64_t i = 0; i < n; ++i) dp[i] = p[i] * (dp[i] - along) * factor;
}

TROUPE_SIMD_CLONES float dot(std::int64_t n, const float* a, const float* b) {
  return lane_sum(n, [a, b](std::int64_t i) { return a[i] * b[i]; });
}

/// The sizes of a call, and the matrices of one row and head.
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

  std::int64_t key_width() const { return heads * key_size; }
  std::int64_t value_width() const { return heads * value_size; }
  /// The number of keys that the queries before `end` see.
  std::int64_t keys_seen(std::int64_t end) const { return causal ? end : keys; }
  std::size_t scores_bytes() const { return static_cast<std::size_t>(kBlock * keys) * sizeof(float); }

  /// The matrix of one row and head, from `position` on.
  Rows of_keys(const Tensor& tensor, std::int64_t row, std::int64_t head, std::int64_t position = 0) const {
    const auto positions = tensor.shape()[1];
    return {floats(tensor) + (row * positions + position) * key_width() + head * key_size, key_width()};
  }
  Rows of_values(const Tensor& tensor, std::int64_t row, std::int64_t head, std::int64_t position = 0) const {
    const auto places = tensor.shape()[1];
    return {floats(tensor) + (row * places + position) * value_width() + head * value_size, value_width()};
  }

  /// Computes the scores of queries `first` to `end`: [end - first, seen].
  void scores(Rows q, Rows k, std::int64_t first, std::int64_t end, float* s) const {
    const auto seen = keys_seen(end);
    multiply(end - first, seen, key_size, factor, 'N', q, 'T', k, 0.0F, s, seen);
  }

  /// Sets masked scores to minus infinity, calls visit(i, row of scores, number of keys that query i sees by
  /// causality), and sets the scores after those keys to 0.
  template <class Visit>
  void for_each_query(const Tensor* mask, std::int64_t row, std::int64_t first, std::int64_t end, float* s,
                      Visit visit) const {
    const auto seen = keys_seen(end);
    for (std::int64_t i = first; i < end; ++i, s += seen) {
      if (mask != nullptr) {
        const auto* allowed =
            reinterpret_cast<const std::uint8_t*>(mask->address()) + ((mask_of_rows ? row * queries : 0) + i) * keys;
        for (std::int64_t j = 0; j < seen; ++j) s[j] = allowed[j] != 0 ? s[j] : -kInfinity;
      }
      const auto visible = causal ? i + 1 : keys;
      visit(i, s, visible);
      std::fill(s + visible, s + seen, 0.0F);
    }
  }

  /// Calls visit(row, head, first query, end of queries).
  template <class Visit>
  void for_each_block(Visit visit) const {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t head = 0; head < heads; ++head)
        for (std::int64_t first = 0; first < queries; first += kBlock)
          visit(row, head, first, std::min(queries, first + kBlock));
  }
};

/// The forward pass.
class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const OpCall& call)
      : a_(call, call.inputs[0].shape, call.inputs[2].shape, call.inputs.size() == 4 ? &call.inputs[3] : nullptr) {}

  std::size_t scratch_bytes() const override { return a_.scores_bytes(); }

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    onednn_engine();
    auto* s = reinterpret_cast<float*>(context.scratch);
    a_.for_each_block([&](auto row, auto head, auto first, auto end) {
      auto* log_sums = mutable_floats(out[1]) + (row * a_.heads + head) * a_.queries;
      a_.scores(a_.of_keys(in[0], row, head, first), a_.of_keys(in[1], row, head), first, end, s);
      a_.for_each_query(a_.has_mask ? &in[3] : nullptr, row, first, end, s,
                        [&](auto i, float* scores, auto count) { log_sums[i] = softmax_row(count, scores); });
      const auto seen = a_.keys_seen(end);
      const auto y = a_.of_values(out[0], row, head, first);
      multiply(end - first, a_.value_size, seen, 1.0F, 'N', {s, seen}, 'N', a_.of_values(in[2], row, head), 0.0F,
               const_cast<float*>(y.data), y.stride);
    });
  }

 private:
  Attention a_;
};

// Inputs: dy, q, k, v, y, log sums, and perhaps a mask.
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
    a_.for_each_block([&](auto row, auto head, auto first, auto end) {
      recompute(in, row, head, first, end, p);
      differentiate_scores(in, row, head, first, end, p, ds);
      accumulate(in, out, row, head, first, end, p, ds);
    });
  }

 private:
  void recompute(Inputs in, std::int64_t row, std::int64_t head, std::int64_t first, std::int64_t end, float* p) const {
    const auto* log_sums = floats(in[5]) + (row * a_.heads + head) * a_.queries;
    a_.scores(a_.of_keys(in[1], row, head, first), a_.of_keys(in[2], row, head), first, end, p);
    a_.for_each_query(a_.has_mask ? &in[6] : nullptr, row, first, end, p,
                      [&](auto i, float* scores, auto count) { probabilities(count, log_sums[i], scores); });
  }

  void differentiate_scores(Inputs in, std::int64_t row, std::int64_t head, std::int64_t first, std::int64_t end,
                            const float* p, float* ds) const {
    const auto seen = a_.keys_seen(end);
    const auto dy = a_.of_values(in[0], row, head, first), y = a_.of_values(in[4], row, head, first);
    multiply(end - first, seen, a_.value_size, 1.0F, 'N', dy, 'T', a_.of_values(in[3], row, head), 0.0F, ds, seen);
    for (std::int64_t i = 0; i < end - first; ++i) {
      const auto along = dot(a_.value_size, dy.data + i * dy.stride, y.data + i * y.stride);
      scores_grad(seen, p + i * seen, along, a_.factor, ds + i * seen);
    }
  }

  void accumulate(Inputs in, Outputs out, std::int64_t row, std::int64_t head, std::int64_t first, std::int64_t end,
                  const float* p, const float* ds) const {
    const auto seen = a_.keys_seen(end), count = end - first;
    const auto add = [](std::int64_t m, std::int64_t n, std::int64_t k, char transpose, Rows a, Rows b, float keep,
                        Rows c) {
      multiply(m, n, k, 1.0F, transpose, a, 'N', b, keep, const_cast<float*>(c.data), c.stride);
    };
    add(count, a_.key_size, seen, 'N', {ds, seen}, a_.of_keys(in[2], row, head), 0.0F,
        a_.of_keys(out[0], row, head, first));
    add(seen, a_.key_size, count, 'T', {ds, seen}, a_.of_keys(in[1], row, head, first), 1.0F,
        a_.of_keys(out[1], row, head));
    add(seen, a_.value_size, count, 'T', {p, seen}, a_.of_values(in[0], row, head, first), 1.0F,
        a_.of_values(out[2], row, head));
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
