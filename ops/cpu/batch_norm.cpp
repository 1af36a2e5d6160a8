#include <algorithm>
#include <cmath>
#include <vector>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

// The channels of a pixel are contiguous and often few. Loops treat pixels_together() neighboring pixels as one pixel
// with more channels, so that the loops are long enough for wide vectors. These pixels have up to kWidth elements
// together, unless a single pixel has more.
constexpr std::int64_t kWidth = 64;
// The largest number of terms that are added up in float before their sum is added to a sum in double.
constexpr std::int64_t kFloatAdditions = 64;

std::int64_t pixels_together(std::int64_t channels) {
  return std::max<std::int64_t>(1, kWidth / channels);
}

/// A number for every channel, repeated for each of the pixels_together() pixels. The object keeps its memory between
/// runs.
class Repeated {
 public:
  explicit Repeated(std::int64_t channels)
      : channels_(static_cast<std::size_t>(channels)),
        numbers_(static_cast<std::size_t>(channels * pixels_together(channels))) {}

  /// Sets the number of every channel to number_of(channel). Returns the repeated numbers, valid until the next fill().
  template <class NumberOf>
  const float* fill(NumberOf number_of) {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      numbers_[i] = i < channels_ ? number_of(static_cast<std::int64_t>(i)) : numbers_[i - channels_];
    return numbers_.data();
  }
  const float* fill(const float* numbers) {
    return fill([numbers](std::int64_t channel) { return numbers[channel]; });
  }

 private:
  std::size_t channels_;
  std::vector<float> numbers_;
};

/// Two sums for every channel, each over one term per element of the channel. The object keeps its memory between runs.
class ChannelSums {
 public:
  explicit ChannelSums(std::int64_t channels)
      : channels_(channels),
        width_(channels * pixels_together(channels)),
        totals_(static_cast<std::size_t>(2 * channels)),
        sums_(static_cast<std::size_t>(2 * width_)) {}

  /// Computes both sums of every channel into result [2, channels]. add(n, runs, at, first, second) must handle `runs`
  /// consecutive runs of n elements, of which the first begins at element `at`: add the two terms of element i of every
  /// run to first[i] and second[i], which are 0 before.
  template <class Add>
  void add_up(std::int64_t elements, float* result, Add add) {
    std::ranges::fill(totals_, 0.0);
    for (std::int64_t at = 0; at < elements;) {
      std::ranges::fill(sums_, 0.0F);
      const auto n = std::min(width_, elements - at);
      const auto runs = std::min(kFloatAdditions, (elements - at) / n);
      add(n, runs, at, sums_.data(), sums_.data() + width_);
      at += runs * n;
      for (std::int64_t j = 0; j < width_; ++j) {
        totals_[static_cast<std::size_t>(j % channels_)] += sums_[static_cast<std::size_t>(j)];
        totals_[static_cast<std::size_t>(channels_ + j % channels_)] += sums_[static_cast<std::size_t>(width_ + j)];
      }
    }
    std::ranges::transform(totals_, result, [](double total) { return static_cast<float>(total); });
  }

 private:
  std::int64_t channels_, width_;
  std::vector<double> totals_;
  std::vector<float> sums_;
};

/// Adds up two terms of each element of `runs` runs of n elements. terms(begin, i, a, b) adds the terms of element i of
/// the run that begins at `begin` to a and b. The sums over all runs are added to first[i] and second[i], which must be
/// 0 before. For n = kWidth the sums stay in registers.
template <class Terms>
[[gnu::always_inline]] inline void add_runs(std::int64_t n, std::int64_t runs, float* __restrict first,
                                            float* __restrict second, Terms terms) {
  if (n == kWidth) {
    float a[kWidth] = {}, b[kWidth] = {};
    for (std::int64_t run = 0; run < runs; ++run)
      for (std::int64_t i = 0; i < kWidth; ++i) terms(run * kWidth, i, a[i], b[i]);
    for (std::int64_t i = 0; i < kWidth; ++i) first[i] = a[i];
    for (std::int64_t i = 0; i < kWidth; ++i) second[i] = b[i];
    return;
  }
  for (std::int64_t run = 0; run < runs; ++run)
    for (std::int64_t i = 0; i < n; ++i) terms(run * n, i, first[i], second[i]);
}

TROUPE_SIMD_CLONES void add_squares(std::int64_t n, std::int64_t runs, const float* __restrict x,
                                    const float* __restrict center, float* __restrict sums, float* __restrict squares) {
  add_runs(n, runs, sums, squares, [=](std::int64_t begin, std::int64_t i, float& sum, float& square) {
    const float d = x[begin + i] - center[i];
    sum += d;
    square += d * d;
  });
}

TROUPE_SIMD_CLONES void add_products(std::int64_t n, std::int64_t runs, const float* __restrict dy,
                                     const float* __restrict x, const float* __restrict mean, float* __restrict sums,
                                     float* __restrict products) {
  add_runs(n, runs, sums, products, [=](std::int64_t begin, std::int64_t i, float& sum, float& product) {
    sum += dy[begin + i];
    product += dy[begin + i] * (x[begin + i] - mean[i]);
  });
}

TROUPE_SIMD_CLONES void scale_and_shift(std::int64_t n, const float* x, const float* factor, const float* shift,
                                        const float* residual, bool relu, float* y) {
  if (residual != nullptr)
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * factor[i] + shift[i] + residual[i];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * factor[i] + shift[i];
  if (relu)
    for (std::int64_t i = 0; i < n; ++i) y[i] = y[i] < 0.0F ? 0.0F : y[i];
}

TROUPE_SIMD_CLONES void input_grad(std::int64_t n, const float* dy, const float* x, const float* mean,
                                   const float* factor, const float* along, const float* shift, float* dx) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * factor[i] - (x[i] - mean[i]) * along[i] - shift[i];
}

/// Splits all elements into runs of pixels_together() pixels and calls visit(n, at) for each: a run of n elements
/// begins at element `at`. The last run may be shorter.
template <class Visit>
void for_each_run(std::int64_t elements, std::int64_t channels, Visit visit) {
  const auto width = channels * pixels_together(channels);
  for (std::int64_t at = 0; at < elements; at += width) visit(std::min(width, elements - at), at);
}

float inverse_deviation(float variance, float epsilon) {
  return 1.0F / std::sqrt(variance + epsilon);
}

}  // namespace

std::unique_ptr<Kernel> make_batch_sums(const OpCall& call) {
  const auto channels = call.inputs[0].shape.back(0);
  return function_kernel([center = Repeated(channels), totals = ChannelSums(channels)](Inputs in, Outputs out) mutable {
    const auto *x = floats(in[0]), *c = center.fill(floats(in[1]));
    totals.add_up(in[0].elements(), mutable_floats(out[0]),
                  [&](auto n, auto runs, auto at, float* sums, float* squares) {
                    add_squares(n, runs, x + at, c, sums, squares);
                  });
  });
}

std::unique_ptr<Kernel> make_batch_moments(const OpCall& call) {
  return function_kernel([channels = call.inputs[1].shape[0], elements = call.attributes.integer("elements")](
                             Inputs in, Outputs out) {
    const auto count = static_cast<double>(std::max<std::int64_t>(1, BatchInfo::read(in[2]).global_rows * elements));
    mutable_floats(out[2])[0] = static_cast<float>(count);
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto distance = floats(in[0])[c] / count;
      mutable_floats(out[0])[c] = static_cast<float>(floats(in[1])[c] + distance);
      const auto variance = floats(in[0])[channels + c] / count - distance * distance;
      mutable_floats(out[1])[c] = static_cast<float>(variance < 0.0 ? 0.0 : variance);
    }
  });
}

std::unique_ptr<Kernel> make_batch_norm(const OpCall& call) {
  const auto channels = call.inputs[0].shape.back(0);
  return function_kernel([channels, factors = Repeated(channels), shifts = Repeated(channels),
                          epsilon = float_attribute(call, "epsilon"),
                          relu = call.attributes.flag("relu")](Inputs in, Outputs out) mutable {
    const auto *mean = floats(in[1]), *variance = floats(in[2]), *scale = floats(in[3]), *bias = floats(in[4]);
    const auto* factor = factors.fill([&](auto c) { return inverse_deviation(variance[c], epsilon) * scale[c]; });
    const auto* shift = shifts.fill([&](auto c) { return bias[c] - mean[c] * factor[c]; });
    const auto* residual = in.size() == 7 ? floats(in[6]) : nullptr;
    for_each_run(in[0].elements(), channels, [&](auto n, auto at) {
      scale_and_shift(n, floats(in[0]) + at, factor, shift, residual != nullptr ? residual + at : nullptr, relu,
                      mutable_floats(out[0]) + at);
    });
  });
}

std::unique_ptr<Kernel> make_batch_norm_grad_sums(const OpCall& call) {
  const auto channels = call.inputs[1].shape.back(0);
  return function_kernel([channels, means = Repeated(channels), totals = ChannelSums(channels),
                          epsilon = float_attribute(call, "epsilon")](Inputs in, Outputs out) mutable {
    const auto* mean = means.fill(floats(in[2]));
    auto* sums = mutable_floats(out[0]);
    totals.add_up(in[0].elements(), sums, [&](auto n, auto runs, auto at, float* of_dy, float* of_products) {
      add_products(n, runs, floats(in[0]) + at, floats(in[1]) + at, mean, of_dy, of_products);
    });
    for (std::int64_t c = 0; c < channels; ++c) sums[channels + c] *= inverse_deviation(floats(in[3])[c], epsilon);
  });
}

// dx = scale / deviation * (dy - mean(dy) - z * mean(dy * z)), where deviation = sqrt(variance + epsilon) and z = (x -
// mean) / deviation. Input 6, if there is one, has the sums of dy and of dy * z for every channel, and input 5 the
// number of their terms. Without input 6 the moments are constants, and dx = scale / deviation * dy.
std::unique_ptr<Kernel> make_batch_norm_grad(const OpCall& call) {
  const auto channels = call.inputs[1].shape.back(0);
  return function_kernel([channels, means = Repeated(channels), factors = Repeated(channels),
                          alongs = Repeated(channels), shifts = Repeated(channels),
                          epsilon = float_attribute(call, "epsilon")](Inputs in, Outputs out) mutable {
    const auto *variance = floats(in[3]), *scale = floats(in[4]), *sums = in.size() == 7 ? floats(in[6]) : nullptr;
    const auto count = floats(in[5])[0];
    const auto* mean = means.fill(floats(in[2]));
    const auto* factor = factors.fill([&](auto c) { return scale[c] * inverse_deviation(variance[c], epsilon); });
    const auto* shift = shifts.fill([&](auto c) { return sums != nullptr ? factor[c] * sums[c] / count : 0.0F; });
    const auto* along = alongs.fill([&](auto c) {
      const auto deviation = inverse_deviation(variance[c], epsilon);
      return sums != nullptr ? factor[c] * deviation * sums[channels + c] / count : 0.0F;
    });
    for_each_run(in[0].elements(), channels, [&](auto n, auto at) {
      input_grad(n, floats(in[0]) + at, floats(in[1]) + at, mean, factor, along, shift, mutable_floats(out[0]) + at);
    });
  });
}

}  // namespace troupe::cpu
