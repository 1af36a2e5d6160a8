#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Three kinds of ops: views, which copy nothing; ops that pack several values into one block; and collectives over all
// replicas, which a communicator computes.

/// A view of the elements of x under another shape with the same number of elements. The first axis of `shape` must be
/// the symbolic batch size B if the first axis of x is B, and must not be B otherwise.
Value reshape(Value x, const Shape& shape);

/// A view of x as a matrix: the first axis, which may be the batch axis B, stays, and all others become one axis.
/// Throws Error if x is a scalar.
Value flatten(Value x);

/// A view of `shape.elements()` elements of x from element `offset` on, row-major. Throws Error if they reach past the
/// end of x. x must not have the batch axis B. The op has no gradient.
Value view_at(Value x, std::int64_t offset, const Shape& shape);

/// Returns one float32 block [n] that holds all `values`, each at an offset that is a multiple of 16 elements;
/// pack_offsets (ops/core/shape.hpp) gives the offsets. The values must be float32 and must not have the batch axis B.
/// The op has no gradient.
Value pack(std::span<const Value> values);
inline Value pack(std::initializer_list<Value> values) {
  return pack(std::span(values.begin(), values.size()));
}
/// Returns, for each of `values`, a view into `block` with the shape of that value. The block must have the layout of
/// the result of pack(values).
std::vector<Value> unpacked(Value block, std::span<const Value> values);

/// The sum of x over all replicas, which overwrites x. x must not have the batch axis B. A communicator computes the
/// sum: no device has a kernel for this op.
Value all_reduce(Value x);

/// Returns [replicas, shape of x...]: the value of x on each of `replicas` replicas, in the order of their ranks. x may
/// have any dtype but must not have the batch axis B. A communicator gathers the values: no device has a kernel for
/// this op.
Value all_gather(Value x, std::int64_t replicas);

}  // namespace troupe
