#pragma once

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// Returns the kernel of a call with 16-bit floats that computes in float32: `factory` makes the kernel of the same
/// call in float32. Each run converts the 16-bit inputs to float32 in scratch memory and rounds the results of 16-bit
/// outputs to the nearest, ties to even. An element-wise call is computed block by block. Throws the errors of the
/// factory. The op must not be an update.
std::unique_ptr<Kernel> in_float32(const OpCall& call, const KernelFactory& factory);

/// True if an input or output of a call has a 16-bit float dtype.
bool has_16_bits(const OpCall& call);

}  // namespace troupe::cpu
