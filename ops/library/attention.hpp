#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct AttentionOptions {
  /// Number of heads. The last axes of queries, keys and values are split into this many equal, consecutive parts.
  std::int64_t heads = 1;
  /// Query i attends to keys 0 .. i only. Needs as many queries as keys.
  bool causal = false;
};

/// Scaled dot-product attention in one op: Vaswani and others, "Attention is all you need" (NeurIPS 2017). Queries
/// [B, T, heads * D], keys [B, S, heads * D] and values [B, S, heads * E] give [B, T, heads * E]: for each head
/// softmax(queries keys' / sqrt(D)) values. B may be any leading size. The gradient computes the scores again, so that
/// memory grows with T + S, not with T * S.
Value attention(Value queries, Value keys, Value values, AttentionOptions options);
/// Attention with a mask, uint8 [T, S] for all rows or [B, T, S]: a query attends only to keys whose mask is not 0. The
/// result of a query that attends to no key is zero.
Value attention(Value queries, Value keys, Value values, Value mask, AttentionOptions options);

}  // namespace troupe
