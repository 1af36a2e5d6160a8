#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Views, which copy nothing; blocks of several values; and collectives, which a communicator runs.

/// A view of the same elements under another shape. The shape of a value that derives from the batch keeps the symbolic
/// leading size.
Value reshape(Value x, const Shape& shape);

/// A view of [B, d1, d2, ...] as [B, d1 * d2 * ...].
Value flatten(Value x);

/// A view of `shape.elements()` elements of x from element `offset` on, row-major. x must not derive from the batch. It
/// passes no gradient on.
Value view_at(Value x, std::int64_t offset, const Shape& shape);

/// One flat block that holds all `values`, each from a multiple of 16 elements on. They are float32 and do not derive
/// from the batch. It passes no gradient on. pack_offsets (ops/core/shape.hpp) gives the offsets.
Value pack(std::span<const Value> values);
/// Views of the values in a block that packs values of the shapes of `values`.
std::vector<Value> unpacked(Value block, std::span<const Value> values);

/// The sum of x over all replicas, in place of x. x must not derive from the batch. Only a communicator can run it.
Value all_reduce(Value x);

/// x of each of `replicas` replicas: [replicas, shape of x...]. x has any dtype and must not derive from the batch.
/// Only a communicator can run it.
Value all_gather(Value x, std::int64_t replicas);

}  // namespace troupe
