#pragma once

#include "troupe/tests/emulated_cuda/matmul.hpp"

namespace emulated_cuda {

/// Computes D, and the other outputs of the epilogue, for matrix `batch`. `product` is the product without alpha: m x n
/// floats, row by row.
void apply_epilogue(const MatmulCall& call, std::int32_t batch, const float* product);

/// Computes the sums of BGRADA and BGRADB. Does nothing for other epilogues.
void write_operand_gradient(const MatmulCall& call, std::int32_t batch);

}  // namespace emulated_cuda
