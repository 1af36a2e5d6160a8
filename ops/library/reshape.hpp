#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The same elements under another shape: a view, nothing is copied. The shape of a batch-derived value keeps the
/// symbolic leading size.
Value reshape(Value x, const Shape& shape);

/// [B, d1, d2, ...] as [B, d1 * d2 * ...]: a view.
Value flatten(Value x);

/// `shape.elements()` elements of x from element `offset` on, row-major: a view. x must not derive from the batch. It
/// passes no gradient on.
Value view_at(Value x, std::int64_t offset, const Shape& shape);

/// One flat block that holds all `values` (float32, none derived from the batch), each at a multiple of 16 elements. It
/// passes no gradient on.
Value pack(std::span<const Value> values);

/// The sum of x over all replicas, in place of x. Only a communicator can run it.
Value all_reduce(Value x);

/// x (any dtype, not derived from the batch) of all replicas, of which there are so many: [replicas, shape of x...].
/// Only a communicator can run it.
Value all_gather(Value x, std::int64_t replicas);

}  // namespace troupe
