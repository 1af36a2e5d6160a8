#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// Returns the kernel of the product in a product_and_magnitude, made by a device's factories for the kernels of matmul
/// and outer_sum.
std::unique_ptr<Kernel> make_product_without_magnitude(const OpCall& call, const KernelFactory& matmul,
                                                       const KernelFactory& outer_sum);

}  // namespace troupe
