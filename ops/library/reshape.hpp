#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Views, which copy nothing; blocks of several values; and collectives, which a communicator runs.

/// A view of the elements of x under another shape with the same number of elements. If the first axis of x is the
/// symbolic batch size B, the first axis of `shape` must be B, too.
Value reshape(Value x, const Shape& shape);

/// A view of x [B, d1, d2, ...] as [B, d1 * d2 * ...]. Throws Error if x is a scalar.
Value flatten(Value x);

/// A view of `shape.elements()` elements of x from element `offset` on, row-major. x must not have the batch axis B.
/// The op has no gradient.
Value view_at(Value x, std::int64_t offset, const Shape& shape);

/// Returns one float32 block [n] that holds all `values`, each at an offset that is a multiple of 16 elements;
/// pack_offsets (ops/core/shape.hpp) gives the offsets. The values must be float32 and must not have the batch axis B.
/// The op has no gradient.
Value pack(std::span<const Value> values);
/// Views into `block`, one with the shape of each of `values`. The block must have the layout of pack() for values of
/// these shapes.
std::vector<Value> unpacked(Value block, std::span<const Value> values);

/// The sum of x over all replicas, which overwrites x. x must not have the batch axis B. A communicator computes the
/// sum: no device has a kernel for this op.
Value all_reduce(Value x);

/// Returns [replicas, shape of x...]: the value of x on each of `replicas` replicas. x may have any dtype but must not
/// have the batch axis B. A communicator gathers the values: no device has a kernel for this op.
Value all_gather(Value x, std::int64_t replicas);

}  // namespace troupe
