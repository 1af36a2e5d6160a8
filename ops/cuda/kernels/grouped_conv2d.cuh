#pragma once

#include "troupe/ops/cuda/cudnn/convolution.hpp"
#include "troupe/ops/cuda/device/block_sum.cuh"
#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/device/elements.cuh"

namespace troupe::cuda {

/// Computes one element of y of a convolution in groups, then adds the bias, unless `bias` is null, and applies the
/// relu if `relu` is true.
template <class T>
struct GroupedForward {
  Convolution shape;
  Split place;
  const T *x, *weights, *bias;
  T* y;
  bool relu;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, filter] = place(i);
    const auto channels = shape.channels / shape.groups;
    const auto first = filter / (shape.filters / shape.groups) * channels;
    float sum = 0.0F;
    for (std::int64_t ky = 0; ky < shape.kernel_height; ++ky)
      for (std::int64_t kx = 0; kx < shape.kernel_width; ++kx) {
        const auto xh = h * shape.stride + ky - shape.padding, xw = w * shape.stride + kx - shape.padding;
        if (xh < 0 || xh >= shape.height || xw < 0 || xw >= shape.width) continue;
        const auto* from = x + ((row * shape.height + xh) * shape.width + xw) * shape.channels + first;
        const auto* factor = weights + (ky * shape.kernel_width + kx) * channels * shape.filters + filter;
        for (std::int64_t c = 0; c < channels; ++c) sum += load(from, c) * load(factor, c * shape.filters);
      }
    if (bias != nullptr) sum += load(bias, filter);
    store(y, i, relu && sum < 0.0F ? 0.0F : sum);
  }
};

/// Computes one element of the gradient of x of a convolution in groups.
template <class T>
struct GroupedGradData {
  Convolution shape;
  Split place;
  const T *dy, *weights;
  T* dx;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = place(i);
    const auto channels = shape.channels / shape.groups, filters = shape.filters / shape.groups;
    const auto first = channel / channels * filters;
    float sum = 0.0F;
    for (std::int64_t ky = 0; ky < shape.kernel_height; ++ky)
      for (std::int64_t kx = 0; kx < shape.kernel_width; ++kx) {
        const auto ph = h + shape.padding - ky, pw = w + shape.padding - kx;
        if (ph < 0 || pw < 0 || ph % shape.stride != 0 || pw % shape.stride != 0) continue;
        const auto yh = ph / shape.stride, yw = pw / shape.stride;
        if (yh >= shape.y_height || yw >= shape.y_width) continue;
        const auto* from = dy + ((row * shape.y_height + yh) * shape.y_width + yw) * shape.filters + first;
        const auto* factor =
            weights + ((ky * shape.kernel_width + kx) * channels + channel % channels) * shape.filters + first;
        for (std::int64_t f = 0; f < filters; ++f) sum += load(from, f) * load(factor, f);
      }
    store(dx, i, sum);
  }
};

/// The gradient of the weights of a convolution in groups. part() returns the share of one thread in element i: the sum
/// over every `step`-th pixel of dy, from pixel `first` on.
template <class T>
struct GroupedGradWeights {
  Convolution shape;
  Split place;              // coordinates of an element of the gradient
  Divisor pixels, columns;  // division by the number of pixels of an image of y, and by its width
  const T *x, *dy;
  float* dweights;

  __device__ float part(std::int64_t i, std::int64_t first, std::int64_t step) const {
    const auto [ky, kx, c, filter] = place(i);
    const auto channels = shape.channels / shape.groups;
    const auto channel = filter / (shape.filters / shape.groups) * channels + c;
    float sum = 0.0F;
    for (auto pixel = first; pixel < shape.rows * pixels.divisor(); pixel += step) {
      const auto row = pixels.quotient(pixel), in_row = pixel - row * pixels.divisor();
      const auto h = columns.quotient(in_row), w = in_row - h * columns.divisor();
      const auto xh = h * shape.stride + ky - shape.padding, xw = w * shape.stride + kx - shape.padding;
      if (xh < 0 || xh >= shape.height || xw < 0 || xw >= shape.width) continue;
      sum += load(x, ((row * shape.height + xh) * shape.width + xw) * shape.channels + channel) *
             load(dy, pixel * shape.filters + filter);
    }
    return sum;
  }
};

/// Computes the elements of the gradient of the weights, each by one block.
template <class Gradient>
__global__ void __launch_bounds__(kBlock) grouped_grad_weights_kernel(std::int64_t count, Gradient gradient) {
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const float sum = block_sum(gradient.part(i, threadIdx.x, kBlock));
    if (threadIdx.x == 0) gradient.dweights[i] = sum;
  }
}

}  // namespace troupe::cuda
