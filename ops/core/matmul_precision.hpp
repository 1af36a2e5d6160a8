#pragma once

#include <string_view>

#include "troupe/ops/core/dtype.hpp"

namespace troupe {

/// The precision to which products and convolutions round their factors. Sums are always float32, as are the parameters
/// and states that are kept from step to step. TF32 keeps 10 of the 23 bits of a factor's fraction; CPUs have no TF32
/// and compute in float32. With a 16-bit float the activations between products, and their gradients, are 16-bit, too
/// (see compute_in in ops/passes/passes.hpp); products that stay float32 use TF32 on GPUs. A CPU without instructions
/// for a 16-bit float converts 16-bit factors to float32; see Backend::has_products_of().
enum class MatmulPrecision { float32, tf32, bfloat16, float16 };

/// Sets the precision of kernels and plans that this process makes from now on. Before the first call the precision is
/// float32. Thread-safe.
void set_matmul_precision(MatmulPrecision precision);
MatmulPrecision matmul_precision();
/// True if products of float32 numbers may round their factors to TF32: for every precision but float32.
inline bool may_use_tf32() {
  return matmul_precision() != MatmulPrecision::float32;
}

/// Reads `float32`, `tf32`, `bfloat16` or `float16`. Throws Error that quotes the text if it is none of them.
MatmulPrecision parse_precision(std::string_view text);
/// The dtype of the activations between products: bfloat16 or float16 for these precisions, else float32.
DType dtype_of(MatmulPrecision precision);

}  // namespace troupe
