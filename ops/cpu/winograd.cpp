#include "troupe/ops/cpu/winograd.hpp"

#include <algorithm>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/simd_clones.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/winograd_products.hpp"
#include "troupe/ops/cpu/winograd_tiles.hpp"

namespace troupe::cpu {

namespace {

using Inputs = std::span<const Tensor>;
using Outputs = std::span<const Tensor>;

constexpr std::int64_t kTaps = 9;
/// Keeps planes from beginning at addresses that differ by a multiple of 4 KiB, which the cache holds in few places.
constexpr std::int64_t kSpaceBetweenPlanes = 48;
/// The tiles of a pass, a multiple of kRowsOfProduct: few enough for the planes of 64 channels to stay in the
/// second-level cache, many enough for each load of the sums of products. The sums of the passes are added up apart
/// from the terms of a pass, which keeps the rounding errors small.
constexpr std::int64_t kTilesOfPass = 64;

std::int64_t tiles_along(std::int64_t size) {
  return (size + kTile - 1) / kTile;
}

/// Images of `shape` in tiles of outputs of a size.
TiledImages tiled(const Shape& shape, std::int64_t height, std::int64_t width, std::int64_t padding) {
  return {shape[1], shape[2], shape[3], tiles_along(height), tiles_along(width), -padding};
}

/// A convolution in passes over tiles. The inputs are the images that are read in tiles of 6x6 pixels, the outputs
/// those of tiles of 4x4 pixels.
struct Passes {
  TiledImages inputs, outputs;
  std::int64_t tiles;

  Passes(const Shape& in, const Shape& out, std::int64_t padding)
      : inputs(tiled(in, out[1], out[2], padding)),
        outputs(tiled(out, out[1], out[2], 0)),
        tiles(in[0] * inputs.tile_rows * inputs.tile_columns) {}

  std::int64_t filters() const { return outputs.channels; }
  std::int64_t weights() const { return inputs.channels * outputs.channels; }

  static std::int64_t plane(std::int64_t channels) { return kTilesOfPass * channels + kSpaceBetweenPlanes; }
};

/// Parts of the scratch memory of a kernel.
class Scratch {
 public:
  explicit Scratch(std::byte* memory = nullptr) : memory_(memory) {}

  float* take(std::int64_t count) {
    auto* const part = memory_ == nullptr ? nullptr : reinterpret_cast<float*>(memory_ + bytes_);
    bytes_ += Allocator::rounded(static_cast<std::size_t>(count) * sizeof(float));
    return part;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

/// The planes of a pass, in scratch memory.
struct PassMemory {
  Planes inputs, outputs;

  PassMemory(const Passes& passes, Scratch& scratch)
      : inputs(planes(passes.inputs.channels, scratch)), outputs(planes(passes.outputs.channels, scratch)) {}

  static Planes planes(std::int64_t channels, Scratch& scratch) {
    return {scratch.take(kPlanes * Passes::plane(channels)), Passes::plane(channels), kTilesOfPass * kBlock};
  }
};

/// Sets `flipped` [3, 3, O, C] to weights [3, 3, C, O] whose taps are in reverse order.
void flip(const float* weights, std::int64_t channels, std::int64_t filters, float* flipped) {
  // In blocks, so that the cache keeps the weights that one filter after the other reads.
  for (std::int64_t tap = 0; tap < kTaps; ++tap)
    for (std::int64_t first = 0; first < channels; first += kBlock)
      for (std::int64_t j = 0; j < filters; ++j)
        for (std::int64_t i = first; i < first + kBlock; ++i)
          flipped[(tap * filters + j) * channels + i] = weights[((kTaps - 1 - tap) * channels + i) * filters + j];
}

TROUPE_SIMD_CLONES void add_to_sums(std::int64_t n, const float* __restrict terms, float* __restrict sums) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] += terms[i];
}

/// A convolution, or the gradient of one with respect to the images, which is a convolution of the gradient of the
/// result with flipped weights.
class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(const Passes& passes, bool flips, bool relu) : passes_(passes), flips_(flips), relu_(relu) {}

  std::size_t scratch_bytes() const override {
    Scratch scratch;
    const Memory memory(passes_, flips_, scratch);
    return scratch.bytes();
  }

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    Scratch scratch(context.scratch);
    const Memory memory(passes_, flips_, scratch);
    const auto channels = passes_.inputs.channels, filters = passes_.filters();
    const float* weights = floats(in[1]);
    if (flips_) {
      flip(weights, filters, channels, memory.flipped);
      weights = memory.flipped;
    }
    transform_filters(channels, filters, weights, memory.filters);
    const float* const bias = in.size() == 3 ? floats(in[2]) : nullptr;
    for (std::int64_t tile = 0; tile < passes_.tiles; tile += kTilesOfPass) {
      const auto count = std::min(kTilesOfPass, passes_.tiles - tile);
      transform_inputs(passes_.inputs, floats(in[0]), tile, count, memory.pass.inputs);
      // The rows behind `count` are those of an earlier pass, or of other memory, and nothing reads their sums.
      const auto rows = (count + kRowsOfProduct - 1) / kRowsOfProduct * kRowsOfProduct;
      multiply_by_weights(rows, channels, filters, memory.pass.inputs, memory.filters, memory.pass.outputs);
      transform_to_outputs(passes_.outputs, memory.pass.outputs, tile, count, bias, relu_, mutable_floats(out[0]));
    }
  }

 private:
  struct Memory {
    PassMemory pass;
    float *filters, *flipped;

    Memory(const Passes& passes, bool flips, Scratch& scratch)
        : pass(passes, scratch),
          filters(scratch.take(kPlanes * passes.weights())),
          flipped(scratch.take(flips ? kTaps * passes.weights() : 0)) {}
  };

  Passes passes_;
  bool flips_, relu_;
};

/// The gradient of a convolution with respect to the weights. T is the type of the images.
template <class T>
class WinogradWeightsKernel final : public Kernel {
 public:
  explicit WinogradWeightsKernel(const Passes& passes) : passes_(passes) {}

  std::size_t scratch_bytes() const override {
    Scratch scratch;
    const Memory memory(passes_, scratch);
    return scratch.bytes();
  }

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    Scratch scratch(context.scratch);
    const Memory memory(passes_, scratch);
    const auto channels = passes_.inputs.channels, filters = passes_.filters();
    for (std::int64_t tile = 0; tile < passes_.tiles; tile += kTilesOfPass) {
      const auto count = std::min(kTilesOfPass, passes_.tiles - tile);
      transform_inputs(passes_.inputs, elements<T>(in[0]), tile, count, memory.pass.inputs);
      transform_output_grads(passes_.outputs, elements<T>(in[1]), tile, count, memory.pass.outputs);
      multiply_over_tiles(count, channels, filters, memory.pass.inputs, memory.pass.outputs,
                          tile == 0 ? memory.sums : memory.of_pass);
      if (tile > 0) add_to_sums(kPlanes * passes_.weights(), memory.of_pass, memory.sums);
    }
    transform_to_filter_grads(channels, filters, memory.sums, mutable_floats(out[0]));
  }

 private:
  struct Memory {
    PassMemory pass;
    float *sums, *of_pass;

    Memory(const Passes& passes, Scratch& scratch)
        : pass(passes, scratch),
          sums(scratch.take(kPlanes * passes.weights())),
          of_pass(scratch.take(passes.tiles > kTilesOfPass ? kPlanes * passes.weights() : 0)) {}
  };

  Passes passes_;
};

}  // namespace

bool is_winograd(const ConvolutionShapes& shapes) {
  constexpr std::int64_t kMostChannels = 256;
  const auto &w = shapes.w, &y = shapes.y;
  const auto fits = [](std::int64_t channels) { return channels % 16 == 0 && channels <= kMostChannels; };
  if (shapes.attributes.has("direct") || w[0] != 3 || w[1] != 3 || shapes.attributes.integer("stride") != 1 ||
      shapes.attributes.integer("groups") != 1 || shapes.attributes.integer("padding") > 2 || !fits(w[2]) ||
      !fits(w[3]))
    return false;
  // At least half of the multiplications are saved.
  return 2 * kPlanes * tiles_along(y[1]) * tiles_along(y[2]) <= kTaps * y[1] * y[2];
}

std::unique_ptr<Kernel> make_winograd(const ConvolutionShapes& shapes) {
  return std::make_unique<WinogradKernel>(Passes(shapes.x, shapes.y, shapes.attributes.integer("padding")), false,
                                          shapes.attributes.flag("relu"));
}

std::unique_ptr<Kernel> make_winograd_grad_data(const ConvolutionShapes& shapes) {
  return std::make_unique<WinogradKernel>(Passes(shapes.y, shapes.x, 2 - shapes.attributes.integer("padding")), true,
                                          false);
}

std::unique_ptr<Kernel> make_winograd_grad_weights(const ConvolutionShapes& shapes, DType images) {
  const Passes passes(shapes.x, shapes.y, shapes.attributes.integer("padding"));
  if (images == DType::bfloat16) return std::make_unique<WinogradWeightsKernel<BFloat16>>(passes);
  return std::make_unique<WinogradWeightsKernel<float>>(passes);
}

}  // namespace troupe::cpu
