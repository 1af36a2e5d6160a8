#include "troupe/ops/cpu/winograd_tiles.hpp"

#include <algorithm>
#include <cstring>

#include "troupe/ops/core/simd_clones.hpp"
#include "troupe/ops/cpu/bfloat16_vectors.hpp"

namespace troupe::cpu {

namespace {

/// The width and height of a transformed tile.
constexpr int kSpan = 6;
/// The number of tiles between the one that is transformed and the one that the processor is asked to load.
constexpr std::int64_t kAhead = 2;

// The points at which the algorithm evaluates polynomials are 0, +-kA, +-kB and infinity. With 0, +-1, +-2 and
// infinity, as in the source, the error is 2.5 times as large, because the powers of 2 are larger. Source of such
// points: B. Barabasz et al., Error analysis and improving the accuracy of Winograd convolution for deep neural
// networks, 2020.
constexpr float kA = 0.75F, kB = 1.5F;
constexpr float kA2 = kA * kA, kB2 = kB * kB, kSum = kA2 + kB2, kProduct = kA2 * kB2;
// The factors of the filters: one over the products of the differences between a point and all others.
constexpr float kAt0 = 1.0F / kProduct, kAtA = 0.5F / (kA2 * (kA2 - kB2)), kAtB = 0.5F / (kB2 * (kB2 - kA2));

// The transforms of one row or column: of vectors `step` apart, in place or from `from` to `to`.

[[gnu::always_inline]] inline void transform_input(Vector16* d, int step) {
  const Vector16 d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
  const Vector16 even_a = d4 - kB2 * d2, odd_a = kA * (d3 - kB2 * d1);
  const Vector16 even_b = d4 - kA2 * d2, odd_b = kB * (d3 - kA2 * d1);
  d[0] = d4 - kSum * d2 + kProduct * d0;
  d[step] = even_a + odd_a;
  d[2 * step] = even_a - odd_a;
  d[3 * step] = even_b + odd_b;
  d[4 * step] = even_b - odd_b;
  d[5 * step] = d5 - kSum * d3 + kProduct * d1;
}

[[gnu::always_inline]] inline void transform_output(const Vector16* from, Vector16* to, int step) {
  const Vector16 even_a = from[step] + from[2 * step], odd_a = kA * (from[step] - from[2 * step]);
  const Vector16 even_b = from[3 * step] + from[4 * step], odd_b = kB * (from[3 * step] - from[4 * step]);
  to[0] = from[0] + (even_a + even_b);
  to[step] = odd_a + odd_b;
  to[2 * step] = kA2 * even_a + kB2 * even_b;
  to[3 * step] = kA2 * odd_a + kB2 * odd_b + from[5 * step];
}

[[gnu::always_inline]] inline void transform_output_grad(Vector16* d, int step) {
  const Vector16 d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
  const Vector16 even_a = d0 + kA2 * d2, odd_a = kA * (d1 + kA2 * d3);
  const Vector16 even_b = d0 + kB2 * d2, odd_b = kB * (d1 + kB2 * d3);
  d[step] = even_a + odd_a;
  d[2 * step] = even_a - odd_a;
  d[3 * step] = even_b + odd_b;
  d[4 * step] = even_b - odd_b;
  d[5 * step] = d3;
}

[[gnu::always_inline]] inline void transform_filter(Vector16* g, int step) {
  const Vector16 g0 = g[0], g1 = g[step], g2 = g[2 * step];
  const Vector16 even_a = kAtA * (g0 + kA2 * g2), odd_a = kAtA * kA * g1;
  const Vector16 even_b = kAtB * (g0 + kB2 * g2), odd_b = kAtB * kB * g1;
  g[0] = kAt0 * g0;
  g[step] = even_a + odd_a;
  g[2 * step] = even_a - odd_a;
  g[3 * step] = even_b + odd_b;
  g[4 * step] = even_b - odd_b;
  g[5 * step] = g2;
}

[[gnu::always_inline]] inline void transform_filter_grad(const Vector16* from, Vector16* to, int step) {
  const Vector16 even_a = kAtA * (from[step] + from[2 * step]), odd_a = kAtA * (from[step] - from[2 * step]);
  const Vector16 even_b = kAtB * (from[3 * step] + from[4 * step]), odd_b = kAtB * (from[3 * step] - from[4 * step]);
  to[0] = kAt0 * from[0] + (even_a + even_b);
  to[step] = kA * odd_a + kB * odd_b;
  to[2 * step] = kA2 * even_a + kB2 * even_b + from[5 * step];
}

/// The first pixel of a tile.
struct Position {
  std::int64_t image, row, column;
};

Position position_of(const TiledImages& images, std::int64_t tile) {
  const auto in_image = tile % (images.tile_rows * images.tile_columns);
  return {tile / (images.tile_rows * images.tile_columns), in_image / images.tile_columns * kTile + images.first,
          in_image % images.tile_columns * kTile + images.first};
}

/// The memory of `size` x `size` pixels of 16 channels: the first pixel, and the distances of rows and columns.
template <class T>
struct Pixels {
  const T* first;
  std::int64_t row, column;
};

/// The pixels of a tile from a channel on: those of the image, or copies in `edge`, which has kPlanes vectors, with
/// zeros for those outside of the image.
template <int size, class T>
[[gnu::always_inline]] inline Pixels<T> pixels_at(const TiledImages& images, const T* x, const Position& at,
                                                  std::int64_t channel, T* edge) {
  const T* const image = x + at.image * images.height * images.width * images.channels + channel;
  const auto pixel_at = [&](std::int64_t row, std::int64_t column) {
    return image + ((at.row + row) * images.width + at.column + column) * images.channels;
  };
  const auto is_row = [&](std::int64_t row) { return at.row + row >= 0 && at.row + row < images.height; };
  const auto is_column = [&](std::int64_t column) {
    return at.column + column >= 0 && at.column + column < images.width;
  };
  if (is_row(0) && is_row(size - 1) && is_column(0) && is_column(size - 1))
    return {pixel_at(0, 0), images.width * images.channels, images.channels};
  static constexpr T kZeros[kBlock] = {};
  for (std::int64_t row = 0; row < size; ++row)
    for (std::int64_t column = 0; column < size; ++column)
      std::memcpy(edge + (row * size + column) * kBlock,
                  is_row(row) && is_column(column) ? pixel_at(row, column) : kZeros, sizeof(kZeros));
  return {edge, size * kBlock, kBlock};
}

/// Asks the processor to load the pixels of a tile from a channel on, as far as they lie in the image.
template <int size, class T>
[[gnu::always_inline]] inline void prefetch(const TiledImages& images, const T* x, const Position& at,
                                            std::int64_t channel) {
  const T* const image = x + at.image * images.height * images.width * images.channels + channel;
  for (auto row = std::max<std::int64_t>(0, at.row); row < std::min(images.height, at.row + size); ++row)
    for (auto column = std::max<std::int64_t>(0, at.column); column < std::min(images.width, at.column + size);
         ++column)
      __builtin_prefetch(image + (row * images.width + column) * images.channels);
}

/// Loads the pixels in rows of kSpan vectors.
template <int size, class T>
[[gnu::always_inline]] inline void load_pixels(const Pixels<T>& pixels, Vector16* d) {
#pragma GCC unroll 6
  for (int i = 0; i < size; ++i)
#pragma GCC unroll 6
    for (int j = 0; j < size; ++j) load(pixels.first + i * pixels.row + j * pixels.column, d[i * kSpan + j]);
}

/// Stores the elements in planes that are `stride` floats apart.
[[gnu::always_inline]] inline void store_planes(float* planes, std::int64_t stride, const Vector16* d) {
#pragma GCC unroll 36
  for (int plane = 0; plane < kPlanes; ++plane) vector_at(planes + plane * stride) = d[plane];
}

/// The place of row `tile` in the block of a channel, in the first plane.
[[gnu::always_inline]] inline float* place_of(const Planes& planes, std::int64_t tile, std::int64_t channel) {
  return planes.data + channel / kBlock * planes.block + tile * kBlock;
}

template <class T>
[[gnu::always_inline]] inline void inputs_to_planes(const TiledImages& images, const T* x, std::int64_t tile,
                                                    std::int64_t count, const Planes& planes) {
  T edge[kPlanes * kBlock];
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = position_of(images, tile + i), next = position_of(images, tile + std::min(i + kAhead, count - 1));
    for (std::int64_t channel = 0; channel < images.channels; channel += kBlock) {
      prefetch<kSpan>(images, x, next, channel);
      Vector16 d[kPlanes];
      load_pixels<kSpan>(pixels_at<kSpan>(images, x, at, channel, edge), d);
#pragma GCC unroll 36
      for (int row = 0; row < kSpan; ++row) transform_input(d + row * kSpan, 1);
#pragma GCC unroll 36
      for (int column = 0; column < kSpan; ++column) transform_input(d + column, kSpan);
      store_planes(place_of(planes, i, channel), planes.stride, d);
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void output_grads_to_planes(const TiledImages& images, const T* dy, std::int64_t tile,
                                                          std::int64_t count, const Planes& planes) {
  T edge[kPlanes * kBlock];
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = position_of(images, tile + i), next = position_of(images, tile + std::min(i + kAhead, count - 1));
    for (std::int64_t channel = 0; channel < images.channels; channel += kBlock) {
      prefetch<kTile>(images, dy, next, channel);
      Vector16 d[kPlanes];
      load_pixels<kTile>(pixels_at<kTile>(images, dy, at, channel, edge), d);
#pragma GCC unroll 36
      for (int row = 0; row < kTile; ++row) transform_output_grad(d + row * kSpan, 1);
#pragma GCC unroll 36
      for (int column = 0; column < kSpan; ++column) transform_output_grad(d + column, kSpan);
      store_planes(place_of(planes, i, channel), planes.stride, d);
    }
  }
}

}  // namespace

// The transforms of images of each dtype. They are macros, because clang cannot compile a template for several vector
// widths.
#define TROUPE_TRANSFORMS(T)                                                                                \
  TROUPE_SIMD_CLONES void transform_inputs(const TiledImages& images, const T* x, std::int64_t tile,        \
                                           std::int64_t count, const Planes& planes) {                      \
    inputs_to_planes(images, x, tile, count, planes);                                                       \
  }                                                                                                         \
  TROUPE_SIMD_CLONES void transform_output_grads(const TiledImages& images, const T* dy, std::int64_t tile, \
                                                 std::int64_t count, const Planes& planes) {                \
    output_grads_to_planes(images, dy, tile, count, planes);                                                \
  }
TROUPE_TRANSFORMS(float)
TROUPE_TRANSFORMS(BFloat16)
#undef TROUPE_TRANSFORMS

TROUPE_SIMD_CLONES void transform_to_outputs(const TiledImages& images, const Planes& planes, std::int64_t tile,
                                             std::int64_t count, const float* bias, bool relu, float* y) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = position_of(images, tile + i);
    const auto rows = std::min(kTile, images.height - at.row), columns = std::min(kTile, images.width - at.column);
    for (std::int64_t channel = 0; channel < images.channels; channel += kBlock) {
      Vector16 m[kPlanes], d[kPlanes];
#pragma GCC unroll 36
      for (int plane = 0; plane < kPlanes; ++plane)
        m[plane] = vector_at(place_of(planes, i, channel) + plane * planes.stride);
#pragma GCC unroll 36
      for (int row = 0; row < kSpan; ++row) transform_output(m + row * kSpan, d + row * kSpan, 1);
#pragma GCC unroll 36
      for (int column = 0; column < kTile; ++column) transform_output(d + column, m + column, kSpan);
      Vector16 shift{};
      if (bias != nullptr) shift = vector_at(bias + channel);
      float* const image = y + at.image * images.height * images.width * images.channels + channel;
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column) {
          Vector16 value = m[row * kSpan + column];
          if (bias != nullptr) value += shift;
          if (relu) value = value < 0.0F ? Vector16{} : value;
          vector_at(image + ((at.row + row) * images.width + at.column + column) * images.channels) = value;
        }
    }
  }
}

TROUPE_SIMD_CLONES void transform_filters(std::int64_t channels, std::int64_t filters, const float* w, float* planes) {
  for (std::int64_t at = 0; at < channels * filters; at += kBlock) {
    Vector16 g[kPlanes];
#pragma GCC unroll 36
    for (int row = 0; row < 3; ++row) {
#pragma GCC unroll 36
      for (int column = 0; column < 3; ++column)
        g[row * kSpan + column] = vector_at(w + (row * 3 + column) * channels * filters + at);
      transform_filter(g + row * kSpan, 1);
    }
#pragma GCC unroll 36
    for (int column = 0; column < kSpan; ++column) transform_filter(g + column, kSpan);
    store_planes(planes + at, channels * filters, g);
  }
}

TROUPE_SIMD_CLONES void transform_to_filter_grads(std::int64_t channels, std::int64_t filters, const float* planes,
                                                  float* dw) {
  for (std::int64_t at = 0; at < channels * filters; at += kBlock) {
    Vector16 u[kPlanes], g[kPlanes];
#pragma GCC unroll 36
    for (int plane = 0; plane < kPlanes; ++plane) u[plane] = vector_at(planes + plane * channels * filters + at);
#pragma GCC unroll 36
    for (int row = 0; row < kSpan; ++row) transform_filter_grad(u + row * kSpan, g + row * kSpan, 1);
#pragma GCC unroll 36
    for (int column = 0; column < 3; ++column) transform_filter_grad(g + column, u + column, kSpan);
#pragma GCC unroll 36
    for (int row = 0; row < 3; ++row)
#pragma GCC unroll 36
      for (int column = 0; column < 3; ++column)
        vector_at(dw + (row * 3 + column) * channels * filters + at) = u[row * kSpan + column];
  }
}

}  // namespace troupe::cpu
