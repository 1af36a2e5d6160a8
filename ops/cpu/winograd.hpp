#pragma once

#include <memory>

#include "troupe/ops/core/shape.hpp"
#include "troupe/ops/graph/attributes.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// The shapes of images x [B, H, W, C], weights and results y of a convolution, and the attributes of conv2d.
struct ConvolutionShapes {
  const Shape &x, &w, &y;
  const Attributes& attributes;
};

/// Whether a convolution is computed by Winograd's algorithm (see winograd_tiles.hpp): if it has 3x3 filters, stride 1,
/// one group and numbers of channels that are multiples of 16, and if the tiles fit the images well. The answer does
/// not depend on the number of images, so that a batch has the same bits in parts.
bool is_winograd(const ConvolutionShapes& shapes);

// The kernels of conv2d and conv2d_grad_data for such a convolution, and that of conv2d_grad_weights without the
// gradient of a bias. They compute in float32. The images of the last one may be bfloat16.

std::unique_ptr<Kernel> make_winograd(const ConvolutionShapes& shapes);
std::unique_ptr<Kernel> make_winograd_grad_data(const ConvolutionShapes& shapes);
std::unique_ptr<Kernel> make_winograd_grad_weights(const ConvolutionShapes& shapes, DType images);

}  // namespace troupe::cpu
