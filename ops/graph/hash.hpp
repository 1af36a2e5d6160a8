#pragma once

#include <cstdint>

#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// Add every part, so that equal values give equal sequences.
void add_to(ByteSequence& sequence, const TensorInfo& info);
void add_to(ByteSequence& sequence, const Attributes& attributes);
void add_to(ByteSequence& sequence, const OpCall& call);
void add_to(ByteSequence& sequence, const Initializer& initializer);
/// Shape, dtype and elements; or that there is no tensor. Blocks until elements in device memory are copied to the
/// host.
void add_to(ByteSequence& sequence, const Tensor& tensor);

/// Equal calls have equal hashes; another op, attribute, shape or dtype gives another one.
std::uint64_t hash_of(const OpCall& call);

/// Changes with every op, attribute, shape, dtype, edge, name, initializer and constant of the graph. Blocks until
/// constants in device memory are copied to the host.
std::uint64_t hash_of(const Graph& graph);

}  // namespace troupe
