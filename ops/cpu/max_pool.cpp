#include <algorithm>
#include <type_traits>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/library/pool.hpp"

namespace troupe::cpu {

namespace {

// Channels are contiguous. They are computed 16 at a time, in loops of a fixed length, which compilers turn into vector
// code.
constexpr int kChannelBlock = 16;

// Keeps the compiler from unrolling a loop over channels to single elements, which would not be vector code.
#define TROUPE_LANE_LOOP _Pragma("GCC unroll 1")

template <int N>
using Constant = std::integral_constant<int, N>;

/// The part of a window that lies in the image: `offset` is the offset of the first element of the part in the image,
/// `rows` and `columns` are the size of the part, and `first_place` is the index of that element in the whole window.
struct Window {
  std::int64_t offset, rows, columns;
  std::int32_t first_place;
};

/// The attributes of a max pooling, and the sizes of its images x [rows, height, width, channels] and pooled images
/// [rows, pooled_height, pooled_width, channels].
struct Pooling {
  std::int64_t rows, height, width, channels, pooled_height, pooled_width, kernel_size, stride, padding;
  bool relu;

  Pooling(const Attributes& attributes, const Shape& x, const Shape& y)
      : rows(x[0]),
        height(x[1]),
        width(x[2]),
        channels(x[3]),
        pooled_height(y[1]),
        pooled_width(y[2]),
        kernel_size(attributes.integer("kernel_size")),
        stride(attributes.integer("stride")),
        padding(attributes.integer("padding")),
        relu(attributes.flag("relu")) {}

  std::int64_t image_elements() const { return height * width * channels; }
  std::int64_t pooled_row_elements() const { return pooled_width * channels; }
  std::int64_t pooled_elements() const { return pooled_height * pooled_row_elements(); }
  /// True if no element is in two windows.
  bool disjoint() const { return stride >= kernel_size; }
  /// True if every element is in exactly one window.
  bool exact() const {
    return stride == kernel_size && padding == 0 && pooled_height * kernel_size == height &&
           pooled_width * kernel_size == width;
  }
  /// The part of window (i, j) that lies in the image.
  Window inside(std::int64_t i, std::int64_t j) const {
    const auto top = i * stride - padding, left = j * stride - padding;
    const auto h = std::max<std::int64_t>(0, top), w = std::max<std::int64_t>(0, left);
    return {(h * width + w) * channels, std::min(height, top + kernel_size) - h,
            std::min(width, left + kernel_size) - w, static_cast<std::int32_t>((h - top) * kernel_size + w - left)};
  }
};

/// Calls visit(offset of the element in the image, its index in the whole window) for every element of a window that
/// lies in the image. If W > 0, the window must be W x W and lie in the image, and compilers unroll the loops. If W is
/// 0, the window gives its size.
template <int W, class Visit>
[[gnu::always_inline]] inline void for_elements(const Pooling& p, const Window& window, Visit visit) {
  const std::int64_t rows = W > 0 ? W : window.rows, columns = W > 0 ? W : window.columns;
  const auto size = static_cast<std::int32_t>(W > 0 ? W : p.kernel_size);
  for (std::int32_t h = 0; h < rows; ++h)
    for (std::int32_t w = 0; w < columns; ++w)
      visit(window.offset + (h * p.width + w) * p.channels, (W > 0 ? 0 : window.first_place) + h * size + w);
}

/// Finds the largest elements of one window, and their indices in the window, in N neighboring channels. With p.relu it
/// applies a relu to these elements, and sets the index of an element that is not above 0 to kNoPlace.
template <int N, int W>
[[gnu::always_inline]] inline void pool_window(const Pooling& p, const Window& window, const float* __restrict x,
                                               float* __restrict y, std::uint8_t* __restrict places) {
  float best[N];
  std::int32_t place[N];
  TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) best[c] = x[window.offset + c];
  TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) place[c] = window.first_place;
  for_elements<W>(p, window, [&](std::int64_t offset, std::int32_t number) {
    const float* here = x + offset;
    TROUPE_LANE_LOOP
    for (int c = 0; c < N; ++c) {
      // True if the element is larger, or is the first NaN. Comparisons with a NaN are false, so a NaN in `here` is
      // taken and a NaN in `best` is never replaced.
      const bool better = !(here[c] <= best[c]) & (best[c] == best[c]);
      best[c] = better ? here[c] : best[c];
      place[c] = better ? number : place[c];
    }
  });
  if (p.relu) {
    TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) place[c] = best[c] > 0.0F ? place[c] : kNoPlace;
    TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) best[c] = best[c] < 0.0F ? 0.0F : best[c];
  }
  TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) y[c] = best[c];
  TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) places[c] = static_cast<std::uint8_t>(place[c]);
}

/// Computes the gradients of the elements of one window in N neighboring channels. If windows are disjoint, dx is set
/// to the gradients; else they are added to dx, which has the gradients of earlier windows.
template <int N, int W>
[[gnu::always_inline]] inline void unpool_window(const Pooling& p, const Window& window, const float* __restrict dy,
                                                 const std::int32_t* __restrict places, float* __restrict dx) {
  const bool disjoint = p.disjoint();
  float gradient[N];
  std::int32_t place[N];
  TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) gradient[c] = dy[c];
  TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) place[c] = places[c];
  for_elements<W>(p, window, [&](std::int64_t offset, std::int32_t number) {
    float* here = dx + offset;
    if (disjoint) {
      TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) here[c] = place[c] == number ? gradient[c] : 0.0F;
    } else {
      TROUPE_LANE_LOOP for (int c = 0; c < N; ++c) here[c] += place[c] == number ? gradient[c] : 0.0F;
    }
  });
}

/// Calls body(c, N, W) until all channels are handled, for N channels from channel c on. N and W are Constants, the
/// template arguments of pool_window(): N is kChannelBlock or, for the last channels, 1. W is 2 for blocks of channels
/// in a whole window of 2 x 2, else 0.
template <class Body>
[[gnu::always_inline]] inline void for_channels(const Pooling& p, const Window& window, Body body) {
  std::int64_t c = 0;
  if (p.kernel_size == 2 && window.rows == 2 && window.columns == 2)
    for (; c + kChannelBlock <= p.channels; c += kChannelBlock) body(c, Constant<kChannelBlock>(), Constant<2>());
  for (; c + kChannelBlock <= p.channels; c += kChannelBlock) body(c, Constant<kChannelBlock>(), Constant<0>());
  for (; c < p.channels; ++c) body(c, Constant<1>(), Constant<0>());
}

TROUPE_SIMD_CLONES void pool_image(const Pooling& p, const float* x, float* y, std::uint8_t* places) {
  for (std::int64_t i = 0; i < p.pooled_height; ++i)
    for (std::int64_t j = 0; j < p.pooled_width; ++j, y += p.channels, places += p.channels) {
      const auto window = p.inside(i, j);
      for_channels(p, window, [&](auto c, auto lanes, auto size) {
        pool_window<lanes.value, size.value>(p, window, x + c, y + c, places + c);
      });
    }
}

TROUPE_SIMD_CLONES void widen(std::int64_t n, const std::uint8_t* __restrict from, std::int32_t* __restrict to) {
  for (std::int64_t k = 0; k < n; ++k) to[k] = from[k];
}

/// Computes the gradients of the elements of all windows in row i of a pooled image; see unpool_window().
TROUPE_SIMD_CLONES void unpool_row(const Pooling& p, std::int64_t i, const float* dy, const std::int32_t* places,
                                   float* dx) {
  for (std::int64_t j = 0; j < p.pooled_width; ++j, dy += p.channels, places += p.channels) {
    const auto window = p.inside(i, j);
    for_channels(p, window, [&](auto c, auto lanes, auto size) {
      unpool_window<lanes.value, size.value>(p, window, dy + c, places + c, dx + c);
    });
  }
}

/// The kernel of max_pool_grad. Input 1 has the index of the largest element in each window, or kNoPlace.
class MaxPoolGradient final : public Kernel {
 public:
  explicit MaxPoolGradient(const Pooling& pooling) : p_(pooling) {}

  // The scratch memory holds the indices for one row of a pooled image, widened from 8 to 32 bits. The indices select
  // among float32 gradients, and vector code needs both in the same width.
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(p_.pooled_row_elements()) * sizeof(std::int32_t);
  }

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    const auto* dy = floats(in[0]);
    const auto* places = reinterpret_cast<const std::uint8_t*>(in[1].address());
    auto* wide_places = reinterpret_cast<std::int32_t*>(context.scratch);
    auto* dx = mutable_floats(out[0]);
    if (!p_.exact()) std::fill_n(dx, p_.rows * p_.image_elements(), 0.0F);
    for (std::int64_t row = 0; row < p_.rows; ++row, dx += p_.image_elements())
      for (std::int64_t i = 0; i < p_.pooled_height; ++i) {
        widen(p_.pooled_row_elements(), places, wide_places);
        unpool_row(p_, i, dy, wide_places, dx);
        dy += p_.pooled_row_elements();
        places += p_.pooled_row_elements();
      }
  }

 private:
  Pooling p_;
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const OpCall& call) {
  return function_kernel(
      [p = Pooling(call.attributes, call.inputs[0].shape, call.outputs[0].shape)](Inputs in, Outputs out) {
        const auto image = p.image_elements(), pooled = p.pooled_elements();
        auto* places = reinterpret_cast<std::uint8_t*>(out[1].address());
        for (std::int64_t row = 0; row < p.rows; ++row)
          pool_image(p, floats(in[0]) + row * image, mutable_floats(out[0]) + row * pooled, places + row * pooled);
      });
}

std::unique_ptr<Kernel> make_max_pool_grad(const OpCall& call) {
  return std::make_unique<MaxPoolGradient>(Pooling(call.attributes, call.outputs[0].shape, call.inputs[0].shape));
}

}  // namespace troupe::cpu
