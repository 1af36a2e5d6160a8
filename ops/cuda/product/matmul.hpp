#pragma once

#include "troupe/ops/cuda/product/product.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// The product of a matmul, or of an op whose first inputs, attributes and result are those of one.
ProductShape shape_of_matmul(const OpCall& call);

/// A kernel of ours for the product of a matmul, outer_sum or matmul_relu_grad, which writes the op's result; null if
/// there is none, or if cuBLASLt is faster.
std::unique_ptr<Kernel> own_product_kernel(const OpCall& call, const ProductShape& shape);

}  // namespace troupe::cuda
