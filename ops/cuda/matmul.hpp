#pragma once

#include "troupe/ops/cuda/product.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// The product of a matmul, or of an op whose first inputs, attributes and result are those of one.
ProductShape shape_of_matmul(const OpCall& call);

}  // namespace troupe::cuda
