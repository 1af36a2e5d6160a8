#pragma once

#include <cstdint>

#include "troupe/ops/core/half.hpp"

// Winograd's algorithm F(4x4, 3x3): a convolution with 3x3 filters computes tiles of 4x4 output pixels, each from 6x6
// input pixels, as 36 products in place of 144. Inputs and filters are transformed, the 36 elements are multiplied one
// by one and added up over the channels, and the sums are transformed to outputs. The transforms of the elements of all
// tiles lie in 36 planes, so that the sums are products of matrices. Source: A. Lavin and S. Gray, Fast algorithms for
// convolutional neural networks, 2016.

namespace troupe::cpu {

/// The number of elements of a transformed tile or filter.
inline constexpr int kPlanes = 36;
/// The width and height of a tile of output pixels.
inline constexpr std::int64_t kTile = 4;

/// Images [N, height, width, channels] in tiles. `channels` is a multiple of 16. Tiles are numbered along a row of an
/// image, then by rows, then by images.
struct TiledImages {
  std::int64_t height, width, channels;
  /// The number of tiles in a column and in a row of an image.
  std::int64_t tile_rows, tile_columns;
  /// The position of the first pixel of tile 0, along both axes; minus the padding for inputs, else 0.
  std::int64_t first = 0;
};

/// The number of channels that are transformed at one time, and that lie together in memory.
inline constexpr std::int64_t kBlock = 16;

/// 36 matrices [channels / 16, tiles, 16] in memory, `stride` floats apart. The blocks of 16 channels are `block`
/// floats apart, so that the distances within a block are known to the compiler.
struct Planes {
  float* data;
  std::int64_t stride, block;
};

// The functions transform `count` tiles from number `tile` on to or from the first rows of the blocks. Pixels outside
// of the images are zero, or are not written.

/// Transforms 6x6 input pixels, B^T d B.
void transform_inputs(const TiledImages& images, const float* x, std::int64_t tile, std::int64_t count,
                      const Planes& planes);
void transform_inputs(const TiledImages& images, const BFloat16* x, std::int64_t tile, std::int64_t count,
                      const Planes& planes);
/// Transforms 4x4 pixels of the gradient of the output, A d A^T.
void transform_output_grads(const TiledImages& images, const float* dy, std::int64_t tile, std::int64_t count,
                            const Planes& planes);
void transform_output_grads(const TiledImages& images, const BFloat16* dy, std::int64_t tile, std::int64_t count,
                            const Planes& planes);
/// Transforms the sums to 4x4 output pixels, A^T m A, adds the bias unless it is null, and takes the maximum with 0 if
/// `relu` is set.
void transform_to_outputs(const TiledImages& images, const Planes& planes, std::int64_t tile, std::int64_t count,
                          const float* bias, bool relu, float* y);

/// Transforms filters [3, 3, channels, filters] to planes [36, channels, filters], G g G^T. `filters` is a multiple of
/// 16.
void transform_filters(std::int64_t channels, std::int64_t filters, const float* w, float* planes);
/// Transforms planes [36, channels, filters] of gradients to the gradients of filters, G^T u G.
void transform_to_filter_grads(std::int64_t channels, std::int64_t filters, const float* planes, float* dw);

}  // namespace troupe::cpu
