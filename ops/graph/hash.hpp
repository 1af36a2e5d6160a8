#pragma once

#include <cstdint>

#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

// add_to() adds the parts of an object to a byte sequence; hash_of() returns the hash of such a sequence. Equal objects
// give equal sequences.

void add_to(ByteSequence& sequence, const TensorInfo& info);
void add_to(ByteSequence& sequence, const Attributes& attributes);
void add_to(ByteSequence& sequence, const OpCall& call);
void add_to(ByteSequence& sequence, const Initializer& initializer);
/// Adds the shape, dtype and elements of a tensor; for an empty handle, adds only a mark that the handle is empty.
/// Blocks until elements in device memory are copied to the host.
void add_to(ByteSequence& sequence, const Tensor& tensor);

/// The hash of the op, the attributes, and the shapes and dtypes of inputs and outputs of a call.
std::uint64_t hash_of(const OpCall& call);

/// The hash of all ops, attributes, shapes, dtypes, edges, names, initializers, constants and outputs of the graph.
/// Blocks until constants in device memory are copied to the host.
std::uint64_t hash_of(const Graph& graph);

}  // namespace troupe
