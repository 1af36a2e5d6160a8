#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Activations of float32 values, element by element; relu is in elementwise.hpp.

Value tanh(Value x);
/// 1 / (1 + exp(-x)).
Value sigmoid(Value x);
/// x times the normal distribution's probability of a smaller number, by the error function: Hendrycks and Gimpel,
/// "Gaussian error linear units" (2016).
Value gelu(Value x);
/// gelu by the approximation with tanh in the same paper, as in GPT-2: up to 5e-4 away from it. On GPUs it may become
/// part of the product before it: see docs/gpu_steps.md.
Value gelu_tanh(Value x);
/// x sigmoid(x), also called swish.
Value silu(Value x);
/// log(1 + exp(x)).
Value softplus(Value x);

}  // namespace troupe
