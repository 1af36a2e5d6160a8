#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct AttentionOptions {
  /// Number of heads. The last axes of queries, keys and values are split into this many equal, consecutive parts, so
  /// their sizes must be multiples of it.
  std::int64_t heads = 1;
  /// True: query i attends to keys 0 .. i only, and the numbers of queries and keys must be equal.
  bool causal = false;
};

/// Scaled dot-product attention in one op: Vaswani and others, "Attention is all you need" (NeurIPS 2017). The T
/// queries must be float32 [B, T, heads * D], the S keys float32 [B, S, heads * D] and the values of the keys float32
/// [B, S, heads * E]; B may be the batch or a fixed size. Returns float32 [B, T, heads * E]: for each head
/// softmax(queries * transpose(keys) / sqrt(D)) * values. The gradient computes the scores again, so memory grows with
/// T + S, not with T * S.
Value attention(Value queries, Value keys, Value values, AttentionOptions options);
/// Attention with a mask. The other inputs and the result are those of attention() without a mask. The mask must be
/// uint8 [T, S], which holds for all rows of the batch, or uint8 [B, T, S]. Query t attends to key s only if element
/// [t, s] of the mask is not 0 and, with `causal`, s is at most t. The result of a query that attends to no key is
/// zero. Keys and values to which a query does not attend may be infinite or NaN: they change neither the result of the
/// query nor its gradient. The gradients of keys and values need finite queries.
Value attention(Value queries, Value keys, Value values, Value mask, AttentionOptions options);

}  // namespace troupe
