#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Element-wise activation functions of x, which must be float32 or a 16-bit float. relu() is in elementwise.hpp.

Value tanh(Value x);
/// 1 / (1 + exp(-x)).
Value sigmoid(Value x);
/// The exact gelu, x times the standard normal distribution function at x: Hendrycks and Gimpel, "Gaussian error linear
/// units" (2016).
Value gelu(Value x);
/// The tanh approximation of gelu by Hendrycks and Gimpel, as in GPT-2: within 5e-4 of gelu. On GPUs the pass
/// fuse_gelu_products may fuse it into the matmul that computes x; see docs/gpu_steps.md.
Value gelu_tanh(Value x);
/// x * sigmoid(x), also called swish.
Value silu(Value x);
/// log(1 + exp(x)).
Value softplus(Value x);

}  // namespace troupe
