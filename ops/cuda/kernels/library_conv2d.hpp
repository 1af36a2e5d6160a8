#pragma once

#include <memory>

#include "troupe/ops/cuda/cudnn/convolution.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// The kernels of convolutions that a library computes; null if there is none, or if it does not compute this one.
std::unique_ptr<Kernel> library_conv2d(const OpCall& call, const Convolution& shape);
std::unique_ptr<Kernel> library_conv2d_grad_data(const OpCall& call, const Convolution& shape);
std::unique_ptr<Kernel> library_conv2d_grad_weights(const OpCall& call, const Convolution& shape);

}  // namespace troupe::cuda
