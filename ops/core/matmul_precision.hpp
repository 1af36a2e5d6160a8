#pragma once

#include <string_view>

#include "troupe/ops/core/dtype.hpp"

namespace troupe {

/// How GPUs multiply in products and convolutions; sums are float32 in any case, and so is all that is kept from step
/// to step. TF32 keeps 10 of the 23 bits of the factors' fractions. With a 16-bit float the factors and what lies
/// between products, activations and their gradients, are 16-bit: see compute_in in ops/passes/passes.hpp; products that
/// stay float32 use TF32. CPUs always compute in float32.
enum class MatmulPrecision { float32, tf32, bfloat16, float16 };

/// That of kernels and plans made from now on; float32 at first. Thread-safe.
void set_matmul_precision(MatmulPrecision precision);
MatmulPrecision matmul_precision();
/// Whether products of float32 numbers may round their factors to TF32: unless all of it is to be float32.
inline bool may_use_tf32() {
  return matmul_precision() != MatmulPrecision::float32;
}

/// `float32`, `tf32`, `bfloat16` or `float16`. Throws Error if it is none of them.
MatmulPrecision parse_precision(std::string_view text);
/// The dtype of what lies between products.
DType dtype_of(MatmulPrecision precision);

}  // namespace troupe
