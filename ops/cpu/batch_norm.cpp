#include <algorithm>
#include <cmath>
#include <vector>

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

  /// Computes both sums of every channel, and calls store(channel, first sum, second sum) for each. add(n, runs, at,
  /// first, second) must handle `runs` consecutive runs of n elements, of which the first begins at element `at`: add
  /// the two terms of element i of every run to first[i] and second[i], which are 0 before.
  template <class Add, class Store>
  void add_up(std::int64_t elements, Add add, Store store) {
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
    for (std::int64_t c = 0; c < channels_; ++c)
      store(c, totals_[static_cast<std::size_t>(c)], totals_[static_cast<std::size_t>(channels_ + c)]);
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

/// The numbers by which elements are normalized: y = (x - mean) * factor + shift, repeated like the channels. The mean
/// is subtracted first: x * factor - mean * factor would round away the digits in which x differs from a large mean.
struct Normalization {
  const float *mean, *factor, *shift;
  bool relu;
};

[[gnu::always_inline]] inline float normalized(const Normalization& by, std::int64_t i, float x) {
  return (x - by.mean[i]) * by.factor[i] + by.shift[i];
}

/// Normalizes n elements, and adds `residual` unless it is null.
[[gnu::always_inline]] inline void normalize_run(std::int64_t n, const Normalization& by, const float* x,
                                                 const float* residual, float* y) {
  if (residual != nullptr)
    for (std::int64_t i = 0; i < n; ++i) y[i] = normalized(by, i, x[i]) + residual[i];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = normalized(by, i, x[i]);
  if (by.relu)
    for (std::int64_t i = 0; i < n; ++i) y[i] = y[i] < 0.0F ? 0.0F : y[i];
}

/// Normalizes `runs` runs of n elements. For n = kWidth the numbers of the channels stay in registers.
TROUPE_SIMD_CLONES void normalize_runs(std::int64_t n, std::int64_t runs, const Normalization& by, const float* x,
                                       const float* residual, float* y) {
  if (n != kWidth) {
    for (std::int64_t at = 0; at < n * runs; at += n)
      normalize_run(n, by, x + at, residual != nullptr ? residual + at : nullptr, y + at);
    return;
  }
  float mean[kWidth], factor[kWidth], shift[kWidth];
  std::copy_n(by.mean, kWidth, mean);
  std::copy_n(by.factor, kWidth, factor);
  std::copy_n(by.shift, kWidth, shift);
  for (std::int64_t at = 0; at < n * runs; at += kWidth) {
    float result[kWidth];
    for (std::int64_t i = 0; i < kWidth; ++i) result[i] = (x[at + i] - mean[i]) * factor[i] + shift[i];
    if (residual != nullptr)
      for (std::int64_t i = 0; i < kWidth; ++i) result[i] += residual[at + i];
    if (by.relu)
      for (std::int64_t i = 0; i < kWidth; ++i) result[i] = result[i] < 0.0F ? 0.0F : result[i];
    for (std::int64_t i = 0; i < kWidth; ++i) y[at + i] = result[i];
  }
}

TROUPE_SIMD_CLONES void add_products(std::int64_t n, std::int64_t runs, const float* __restrict dy,
                                     const float* __restrict x, const float* __restrict mean, float* __restrict sums,
                                     float* __restrict products) {
  add_runs(n, runs, sums, products, [=](std::int64_t begin, std::int64_t i, float& sum, float& product) {
    sum += dy[begin + i];
    product += dy[begin + i] * (x[begin + i] - mean[i]);
  });
}

/// The same where dy is the gradient of a relu of the normalized elements: only where they are above 0 it counts.
TROUPE_SIMD_CLONES void add_relu_products(std::int64_t n, std::int64_t runs, const float* __restrict dy,
                                          const float* __restrict x, const Normalization& by, float* __restrict sums,
                                          float* __restrict products) {
  const Normalization of = by;
  add_runs(n, runs, sums, products, [=](std::int64_t begin, std::int64_t i, float& sum, float& product) {
    const float dz = normalized(of, i, x[begin + i]) > 0.0F ? dy[begin + i] : 0.0F;
    sum += dz;
    product += dz * (x[begin + i] - of.mean[i]);
  });
}

/// The same where dy is the gradient of a relu with the result y. Stores the gradient dz before the relu.
TROUPE_SIMD_CLONES void add_kept_products(std::int64_t n, std::int64_t runs, const float* __restrict dy,
                                          const float* __restrict x, const float* __restrict mean,
                                          const float* __restrict y, float* __restrict dz, float* __restrict sums,
                                          float* __restrict products) {
  add_runs(n, runs, sums, products, [=](std::int64_t begin, std::int64_t i, float& sum, float& product) {
    const float d = y[begin + i] > 0.0F ? dy[begin + i] : 0.0F;
    dz[begin + i] = d;
    sum += d;
    product += d * (x[begin + i] - mean[i]);
  });
}

/// The numbers by which the gradient of elements x is computed: dx = dy * factor - (x - mean) * along - shift, repeated
/// like the channels.
struct InputGradient {
  const float *factor, *along, *shift;
};

/// Computes the gradients of `runs` runs of n elements. Behind a relu dy counts only where the normalized elements are
/// above 0.
TROUPE_SIMD_CLONES void input_grad(std::int64_t n, std::int64_t runs, const InputGradient& by,
                                   const Normalization& norm, const float* __restrict dy, const float* __restrict x,
                                   float* __restrict dx) {
  for (std::int64_t at = 0; at < n * runs; at += n)
    if (norm.relu)
      for (std::int64_t i = 0; i < n; ++i) {
        const float dz = normalized(norm, i, x[at + i]) > 0.0F ? dy[at + i] : 0.0F;
        dx[at + i] = dz * by.factor[i] - (x[at + i] - norm.mean[i]) * by.along[i] - by.shift[i];
      }
    else
      for (std::int64_t i = 0; i < n; ++i)
        dx[at + i] = dy[at + i] * by.factor[i] - (x[at + i] - norm.mean[i]) * by.along[i] - by.shift[i];
}

float inverse_deviation(float variance, float epsilon) {
  return 1.0F / std::sqrt(variance + epsilon);
}

/// The numbers of a Normalization for a call. The object keeps its memory between runs.
class RepeatedNormalization {
 public:
  RepeatedNormalization(const OpCall& call, std::int64_t channels)
      : means_(channels),
        factors_(channels),
        shifts_(channels),
        epsilon_(float_attribute(call, "epsilon")),
        relu_(call.attributes.flag("relu")) {}

  bool relu() const { return relu_; }
  /// The numbers for these means, variances, scales and shifts of the channels, valid until the next fill(). Null
  /// scales count as 1, null shifts as 0.
  Normalization fill(const float* mean, const float* variance, const float* scale, const float* shift) {
    const auto factor_of = [&](auto c) {
      return inverse_deviation(variance[c], epsilon_) * (scale != nullptr ? scale[c] : 1.0F);
    };
    return {means_.fill(mean), factors_.fill(factor_of),
            shifts_.fill([&](auto c) { return shift != nullptr ? shift[c] : 0.0F; }), relu_};
  }

 private:
  Repeated means_, factors_, shifts_;
  float epsilon_;
  bool relu_;
};

/// Computes means[channels], the mean of up to 16 pixels at equal distances, as a center near the mean of all pixels.
void mean_of_sample(std::int64_t pixels, std::int64_t channels, const float* x, float* means) {
  const auto count = std::min<std::int64_t>(16, pixels);
  const auto weight = 1.0F / static_cast<float>(count);
  std::fill_n(means, channels, 0.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto* pixel = x + i * pixels / count * channels;
    for (std::int64_t c = 0; c < channels; ++c) means[c] += pixel[c] * weight;
  }
}

}  // namespace

std::unique_ptr<Kernel> make_replica_moments(const OpCall& call) {
  const auto channels = call.inputs[0].shape.back(0);
  return function_kernel([channels, center = Repeated(channels), totals = ChannelSums(channels)](Inputs in,
                                                                                                 Outputs out) mutable {
    const auto* x = floats(in[0]);
    const auto pixels = in[0].elements() / channels;
    auto *counts = mutable_floats(out[0]), *means = counts + channels, *squares_of = means + channels;
    mean_of_sample(pixels, channels, x, means);
    const auto* c = center.fill(static_cast<const float*>(means));
    totals.add_up(
        in[0].elements(),
        [&](auto n, auto runs, auto at, float* sums, float* squares) {
          add_squares(n, runs, x + at, c, sums, squares);
        },
        [&](std::int64_t channel, double sum, double squares) {
          const auto count = static_cast<double>(pixels), distance = sum / count, at_mean = squares - sum * distance;
          counts[channel] = static_cast<float>(count);
          means[channel] = static_cast<float>(means[channel] + distance);
          squares_of[channel] = static_cast<float>(at_mean < 0.0 ? 0.0 : at_mean);
        });
  });
}

// Combines the moments of replicas by the formulas of Chan, Golub and LeVeque (1979).
std::unique_ptr<Kernel> make_batch_moments(const OpCall& call) {
  const auto& shape = call.inputs[0].shape;
  return function_kernel([replicas = shape[0], channels = shape[2]](Inputs in, Outputs out) {
    for (std::int64_t c = 0; c < channels; ++c) {
      double count = 0.0, mean = 0.0, squares = 0.0;
      for (std::int64_t replica = 0; replica < replicas; ++replica) {
        const auto* part = floats(in[0]) + replica * 3 * channels + c;
        if (part[0] == 0.0F) continue;
        const auto total = count + part[0], distance = part[channels] - mean;
        squares += part[2 * channels] + distance * distance * (count / total) * part[0];
        mean += distance * (part[0] / total);
        count = total;
      }
      const auto counted = std::max(1.0, count);
      mutable_floats(out[0])[c] = static_cast<float>(mean);
      mutable_floats(out[1])[c] = static_cast<float>(squares / counted);
      if (c == 0) mutable_floats(out[2])[0] = static_cast<float>(counted);
    }
  });
}

std::unique_ptr<Kernel> make_batch_norm(const OpCall& call) {
  const auto channels = call.inputs[0].shape.back(0);
  return function_kernel([channels, numbers = RepeatedNormalization(call, channels)](Inputs in, Outputs out) mutable {
    const auto by = numbers.fill(floats(in[1]), floats(in[2]), floats(in[3]), floats(in[4]));
    const auto* residual = in.size() == 7 ? floats(in[6]) : nullptr;
    const auto width = channels * pixels_together(channels), whole = in[0].elements() / width * width;
    normalize_runs(width, whole / width, by, floats(in[0]), residual, mutable_floats(out[0]));
    normalize_run(in[0].elements() - whole, by, floats(in[0]) + whole, residual != nullptr ? residual + whole : nullptr,
                  mutable_floats(out[0]) + whole);
  });
}

std::unique_ptr<Kernel> make_batch_norm_grad_sums(const OpCall& call) {
  const auto channels = call.inputs[1].shape.back(0);
  return function_kernel([channels, numbers = RepeatedNormalization(call, channels), totals = ChannelSums(channels),
                          epsilon = float_attribute(call, "epsilon")](Inputs in, Outputs out) mutable {
    const bool again = in.size() == 6;
    const auto by =
        numbers.fill(floats(in[2]), floats(in[3]), again ? floats(in[4]) : nullptr, again ? floats(in[5]) : nullptr);
    auto* sums = mutable_floats(out[0]);
    totals.add_up(
        in[0].elements(),
        [&](auto n, auto runs, auto at, float* of_dy, float* of_products) {
          const auto *dy = floats(in[0]) + at, *x = floats(in[1]) + at;
          if (in.size() == 6)
            add_relu_products(n, runs, dy, x, by, of_dy, of_products);
          else if (in.size() == 5)
            add_kept_products(n, runs, dy, x, by.mean, floats(in[4]) + at, mutable_floats(out[1]) + at, of_dy,
                              of_products);
          else
            add_products(n, runs, dy, x, by.mean, of_dy, of_products);
        },
        [&](std::int64_t c, double of_dy, double of_products) {
          sums[c] = static_cast<float>(of_dy);
          sums[channels + c] = static_cast<float>(of_products) * inverse_deviation(floats(in[3])[c], epsilon);
        });
  });
}

// dx = scale / deviation * (dy - mean(dy) - z * mean(dy * z)), where deviation = sqrt(variance + epsilon) and z = (x -
// mean) / deviation. The sums have those of dy and of dy * z for every channel, and the count the number of their
// terms. Without sums the moments are constants, and dx = scale / deviation * dy.
std::unique_ptr<Kernel> make_batch_norm_grad(const OpCall& call) {
  const auto channels = call.inputs[1].shape.back(0);
  return function_kernel([channels, numbers = RepeatedNormalization(call, channels), alongs = Repeated(channels),
                          shifts = Repeated(channels), epsilon = float_attribute(call, "epsilon"),
                          of_batch = call.attributes.flag("of_batch")](Inputs in, Outputs out) mutable {
    const auto *variance = floats(in[3]), *sums = of_batch ? floats(in[6]) : nullptr;
    const auto* shift_of_norm = numbers.relu() ? floats(in[of_batch ? 7 : 6]) : nullptr;
    const auto norm = numbers.fill(floats(in[2]), variance, floats(in[4]), shift_of_norm);
    const auto count = floats(in[5])[0];
    const auto* factor = norm.factor;
    const auto* shift = shifts.fill([&](auto c) { return sums != nullptr ? factor[c] * sums[c] / count : 0.0F; });
    const auto* along = alongs.fill([&](auto c) {
      const auto deviation = inverse_deviation(variance[c], epsilon);
      return sums != nullptr ? factor[c] * deviation * sums[channels + c] / count : 0.0F;
    });
    const auto compute = [&](std::int64_t n, std::int64_t runs, std::int64_t at) {
      input_grad(n, runs, {factor, along, shift}, norm, floats(in[0]) + at, floats(in[1]) + at,
                 mutable_floats(out[0]) + at);
    };
    const auto width = channels * pixels_together(channels), whole = in[0].elements() / width * width;
    compute(width, whole / width, 0);
    compute(in[0].elements() - whole, 1, whole);
  });
}

}  // namespace troupe::cpu
