#include <algorithm>
#include <vector>

#include "troupe/ops/cuda/kernels/head_products.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

using Transpose = HeadProduct::Transpose;

HeadMatrices of_scores(const Attention& a) {
  return {a.queries * a.keys, a.keys};
}

template <class Visit>
void for_each_chunk(const Attention& a, Visit visit) {
  for (std::int64_t first = 0; first < a.rows; first += a.chunk) visit(first, std::min(a.chunk, a.rows - first));
}

/// Calls visit(first query, number of queries, number of keys that any of these queries may see) for every block of
/// queries. A causal attention has up to kMaxCausalBlocks blocks of `a.block` queries, of which the last may be
/// smaller; any other attention has one block, of all queries.
template <class Visit>
void for_each_block(const Attention& a, Visit visit) {
  for (std::int64_t first = 0; first < a.queries; first += a.block) {
    const auto end = std::min(first + a.block, a.queries);
    visit(first, end - first, a.causal ? end : a.keys);
  }
}

std::size_t copy_bytes(std::initializer_list<const HeadLayout*> layouts) {
  std::size_t bytes = 0;
  for (const auto* layout : layouts) bytes += scratch_bytes_of<float>(layout->copy_elements());
  return bytes;
}

std::size_t most_workspace(std::initializer_list<const std::vector<HeadProduct>*> all) {
  std::size_t bytes = 0;
  for (const auto* products : all)
    for (const auto& product : *products) bytes = std::max(bytes, product.workspace_bytes());
  return bytes;
}

/// The forward pass, in chunks of rows of the batch: scores, their softmax, and the product of these probabilities and
/// the values. Inputs: q, k, v, and perhaps a mask. Outputs: y, and for each query the log sum, the logarithm of the
/// sum of the exponentials of its scores.
class Forward {
 public:
  explicit Forward(const Attention& a)
      : a_(a),
        q_(a, a.queries, a.key_size),
        k_(a, a.keys, a.key_size),
        v_(a, a.keys, a.value_size),
        y_(a, a.queries, a.value_size) {
    for_each_block(a, [&](std::int64_t, std::int64_t queries, std::int64_t keys) {
      scores_.emplace_back(a, HeadProduct::Sizes{queries, keys, a.key_size}, Transpose::b, a.factor, q_.matrices(),
                           k_.matrices(), of_scores(a));
      results_.emplace_back(a, HeadProduct::Sizes{queries, a.value_size, keys}, Transpose::none, 1.0F, of_scores(a),
                            v_.matrices(), y_.matrices());
    });
  }

  std::size_t scratch_bytes() const {
    return scratch_bytes_of<float>(a_.scores()) + copy_bytes({&q_, &k_, &v_, &y_}) +
           most_workspace({&scores_, &results_});
  }

  void run(const Launch& where, Inputs in, Outputs out) const {
    ScratchParts parts(where.scratch);
    auto* s = parts.take<float>(a_.scores());
    auto *q_copy = parts.take<float>(q_.copy_elements()), *k_copy = parts.take<float>(k_.copy_elements());
    auto *v_copy = parts.take<float>(v_.copy_elements()), *y_copy = parts.take<float>(y_.copy_elements());
    auto* workspace = parts.rest();
    for_each_chunk(a_, [&](std::int64_t first, std::int64_t rows) {
      const auto* q = q_.split(where, in[0], first, rows, q_copy);
      const auto* k = k_.split(where, in[1], first, rows, k_copy);
      const auto* v = v_.split(where, in[2], first, rows, v_copy);
      auto* y = y_.target(out[0], first, y_copy);
      for_blocks(scores_, [&](const HeadProduct& product, std::int64_t query) {
        product.run(where, rows, q + query * q_.matrices().ld, k, s + query * a_.keys, workspace);
      });
      const Scores scores{a_, first, rows, optional_data_of<std::uint8_t>(in, 3), s};
      for_each_row(where, scores.count(), a_.keys, SoftmaxScores{scores, mutable_floats(out[1])});
      for_blocks(results_, [&](const HeadProduct& product, std::int64_t query) {
        product.run(where, rows, s + query * a_.keys, v, y + query * y_.matrices().ld, workspace);
      });
      const LeaveOutHiddenKeys correction{scores, v, v_.matrices(), y, y_.matrices(), a_.value_size};
      for_each(where, correction.count(), correction);
      y_.join(where, out[0], first, rows, y_copy);
    });
  }

 private:
  template <class Run>
  void for_blocks(const std::vector<HeadProduct>& products, Run run) const {
    for (std::size_t i = 0; i < products.size(); ++i) run(products[i], static_cast<std::int64_t>(i) * a_.block);
  }

  Attention a_;
  HeadLayout q_, k_, v_, y_;
  std::vector<HeadProduct> scores_, results_;  // one for each block of queries
};

// The backward pass. Inputs: dy, q, k, v, y, the log sums of Forward, and perhaps a mask. Outputs: the gradients of q,
// k and v.
class Backward {
 public:
  explicit Backward(const Attention& a)
      : a_(a),
        q_(a, a.queries, a.key_size),
        k_(a, a.keys, a.key_size),
        v_(a, a.keys, a.value_size),
        dy_(a, a.queries, a.value_size) {
    const auto q = q_.matrices(), k = k_.matrices(), v = v_.matrices(), dy = dy_.matrices(), s = of_scores(a);
    for_each_block(a, [&](std::int64_t first, std::int64_t queries, std::int64_t keys) {
      scores_.emplace_back(a, HeadProduct::Sizes{queries, keys, a.key_size}, Transpose::b, a.factor, q, k, s);
      dp_.emplace_back(a, HeadProduct::Sizes{queries, keys, a.value_size}, Transpose::b, 1.0F, dy, v, s);
      dq_.emplace_back(a, HeadProduct::Sizes{queries, a.key_size, keys}, Transpose::none, 1.0F, s, k, q);
      // In a causal attention, dk and dv are computed for the keys with the indices of the block's queries. Only the
      // queries from the first one of the block on see these keys.
      const auto block_keys = a.causal ? queries : a.keys, later = a.queries - first;
      dk_.emplace_back(a, HeadProduct::Sizes{block_keys, a.key_size, later}, Transpose::a, 1.0F, s, q, k);
      dv_.emplace_back(a, HeadProduct::Sizes{block_keys, a.value_size, later}, Transpose::a, 1.0F, s, dy, v);
    });
  }

  std::size_t scratch_bytes() const {
    return 2 * scratch_bytes_of<float>(a_.scores()) + copy_bytes({&q_, &k_, &v_, &dy_}) + copy_bytes({&q_, &k_, &v_}) +
           most_workspace({&scores_, &dp_, &dq_, &dk_, &dv_});
  }

  void run(const Launch& where, Inputs in, Outputs out) const {
    const Memory memory(*this, where.scratch);
    for_each_chunk(a_, [&](std::int64_t first, std::int64_t rows) {
      const Heads heads{q_.split(where, in[1], first, rows, memory.q),
                        k_.split(where, in[2], first, rows, memory.k),
                        v_.split(where, in[3], first, rows, memory.v),
                        dy_.split(where, in[0], first, rows, memory.dy),
                        q_.target(out[0], first, memory.dq),
                        k_.target(out[1], first, memory.dk),
                        v_.target(out[2], first, memory.dv)};
      find_scores_gradient(where, in, first, rows, heads, memory);
      for (std::size_t i = 0; i < scores_.size(); ++i) run_block(where, i, rows, heads, memory);
      const Scores gradients{a_, first, rows, optional_data_of<std::uint8_t>(in, 6), memory.ds};
      const LeaveOutHiddenKeys correction{gradients, heads.k, k_.matrices(), heads.dq, q_.matrices(), a_.key_size};
      for_each(where, correction.count(), correction);
      q_.join(where, out[0], first, rows, memory.dq);
      k_.join(where, out[1], first, rows, memory.dk);
      v_.join(where, out[2], first, rows, memory.dv);
    });
  }

 private:
  /// The scratch memory: probabilities p, gradients ds of the products of queries and keys, copies of heads (see
  /// HeadLayout), and a workspace of the products.
  struct Memory {
    float *p, *ds, *q, *k, *v, *dy, *dq, *dk, *dv;
    std::byte* workspace;

    Memory(const Backward& b, std::byte* scratch) {
      ScratchParts parts(scratch);
      for (auto** scores : {&p, &ds}) *scores = parts.take<float>(b.a_.scores());
      for (auto** copy : {&q, &dq}) *copy = parts.take<float>(b.q_.copy_elements());
      for (auto** copy : {&k, &dk}) *copy = parts.take<float>(b.k_.copy_elements());
      for (auto** copy : {&v, &dv}) *copy = parts.take<float>(b.v_.copy_elements());
      dy = parts.take<float>(b.dy_.copy_elements());
      workspace = parts.rest();
    }
  };
  /// For a chunk of rows, the addresses of the first head's matrices and of their gradients; HeadLayout::matrices()
  /// gives the distances to the other heads.
  struct Heads {
    const float *q, *k, *v, *dy;
    float *dq, *dk, *dv;
  };

  void find_scores_gradient(const Launch& where, Inputs in, std::int64_t first, std::int64_t rows, const Heads& heads,
                            const Memory& memory) const {
    const auto* mask = optional_data_of<std::uint8_t>(in, 6);
    const Scores probabilities{a_, first, rows, mask, memory.p}, gradients{a_, first, rows, mask, memory.ds};
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const auto query = static_cast<std::int64_t>(i) * a_.block, at = query * a_.keys;
      scores_[i].run(where, rows, heads.q + query * q_.matrices().ld, heads.k, memory.p + at, memory.workspace);
      dp_[i].run(where, rows, heads.dy + query * dy_.matrices().ld, heads.v, memory.ds + at, memory.workspace);
    }
    for_each_row(where, probabilities.count(), a_.keys, ProbabilitiesAgain{probabilities, floats(in[5])});
    for_each_row(where, gradients.count(), a_.keys, ScoresGrad{gradients, memory.p, floats(in[0]), floats(in[4])});
  }

  void run_block(const Launch& where, std::size_t i, std::int64_t rows, const Heads& heads,
                 const Memory& memory) const {
    const auto first = static_cast<std::int64_t>(i) * a_.block;
    const auto of_q = first * q_.matrices().ld, of_dy = first * dy_.matrices().ld, row = first * a_.keys;
    dq_[i].run(where, rows, memory.ds + row, heads.k, heads.dq + of_q, memory.workspace);
    // The first key of a block has the same index as its first query. This also holds if the attention is not causal:
    // both are 0, because there is one block.
    const auto from = row + first;
    dk_[i].run(where, rows, memory.ds + from, heads.q + of_q, heads.dk + first * k_.matrices().ld, memory.workspace);
    dv_[i].run(where, rows, memory.p + from, heads.dy + of_dy, heads.dv + first * v_.matrices().ld, memory.workspace);
  }

  Attention a_;
  HeadLayout q_, k_, v_, dy_;
  std::vector<HeadProduct> scores_, dp_, dq_, dk_, dv_;  // one for each block of queries
};

}  // namespace

std::unique_ptr<Kernel> make_attention(const OpCall& call) {
  return object_kernel(call, Forward({call, 0, 3}));
}
std::unique_ptr<Kernel> make_attention_grad(const OpCall& call) {
  return object_kernel(call, Backward({call, 1, 6}));
}

}  // namespace troupe::cuda
