#pragma once

#include "troupe/ops/cuda/product/product.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// The product of a matmul, or of an op whose first inputs, attributes and result equal those of a matmul.
ProductShape shape_of_matmul(const OpCall& call);

/// A kernel without cuBLASLt for the product of a matmul, outer_sum or matmul_relu_grad, which writes the op's result.
/// Null if there is none or cuBLASLt is faster.
std::unique_ptr<Kernel> own_product_kernel(const OpCall& call, const ProductShape& shape);

}  // namespace troupe::cuda
