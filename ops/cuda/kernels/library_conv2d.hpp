#pragma once

#include <memory>

#include "troupe/ops/cuda/cudnn/convolution.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// Kernels of convolutions that a library computes. Null if there is no library or it does not support the convolution.
std::unique_ptr<Kernel> library_conv2d(const OpCall& call, const Convolution& shape);
std::unique_ptr<Kernel> library_conv2d_grad_data(const OpCall& call, const Convolution& shape);
std::unique_ptr<Kernel> library_conv2d_grad_weights(const OpCall& call, const Convolution& shape);

}  // namespace troupe::cuda
