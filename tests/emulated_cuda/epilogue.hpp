#pragma once

#include "troupe/tests/emulated_cuda/matmul.hpp"

namespace emulated_cuda {

/// Writes D, and what belongs to the epilogue, from the product of one of the batch: m x n floats by rows, without
/// alpha.
void apply_epilogue(const MatmulCall& call, std::int32_t batch, const float* product);

/// The sums of BGRADA and BGRADB; does nothing for other epilogues.
void write_operand_gradient(const MatmulCall& call, std::int32_t batch);

}  // namespace emulated_cuda
