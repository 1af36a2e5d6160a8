#pragma once

#include <cstdint>

#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// Adds every field, so that equal values give equal hashes.
void add_to(Hash& hash, const Shape& shape);
void add_to(Hash& hash, const TensorInfo& info);
void add_to(Hash& hash, const Attributes& attributes);
void add_to(Hash& hash, const OpCall& call);

/// Equal calls have equal hashes; another op, attribute, shape or dtype gives another one.
std::uint64_t hash_of(const OpCall& call);

/// Changes with every op, attribute, shape, dtype, edge, name, initializer and constant of the graph. Blocks until
/// constants in device memory are copied to the host.
std::uint64_t hash_of(const Graph& graph);

}  // namespace troupe
