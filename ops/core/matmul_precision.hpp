#pragma once

namespace troupe {

/// How GPUs multiply float32 numbers in products and convolutions. TF32 keeps 10 of 23 bits of the factors' fractions,
/// and is several times as fast; sums are float32 in either case. CPUs always compute in float32.
enum class MatmulPrecision { float32, tf32 };

/// That of kernels made from now on; float32 at first. Thread-safe.
void set_matmul_precision(MatmulPrecision precision);
MatmulPrecision matmul_precision();

}  // namespace troupe
