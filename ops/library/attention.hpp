#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct AttentionOptions {
  /// The last axes of queries, keys and values hold so many heads one behind the other.
  std::int64_t heads = 1;
  /// Position i sees the keys up to i only. Needs as many queries as keys.
  bool causal = false;
};

/// Scaled dot-product attention of Vaswani and others, "Attention is all you need" (NeurIPS 2017), in one op: queries
/// [B, T, heads * D], keys [B, S, heads * D], values [B, S, heads * E] -> [B, T, heads * E]; for each head
/// softmax(queries keys' / sqrt(D)) values. The scores are computed again for the gradient, so that memory grows with
/// T and S, not with their product. B may be any first size.
Value attention(Value queries, Value keys, Value values, AttentionOptions options);
/// As above, where a position sees the keys whose mask is not 0: uint8 [T, S], or [B, T, S] for a mask of every row. A
/// position that sees no key gives zeros.
Value attention(Value queries, Value keys, Value values, Value mask, AttentionOptions options);

}  // namespace troupe
