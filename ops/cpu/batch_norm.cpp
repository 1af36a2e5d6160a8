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

TROUPE_SIMD_CLONES void add_products(std::int64_t n, std::int64_t runs, const float* __restrict dy,
                                     const float* __restrict x, const float* __restrict mean, float* __restrict sums,
                                     float* __restrict products) {
  add_runs(n, runs, sums, products, [=](std::int64_t begin, std::int64_t i, float& sum, float& product) {
    sum += dy[begin + i];
    product += dy[begin + i] * (x[begin + i] - mean[i]);
  });
}

/// The numbers by which elements are normalized: y = (x - mean) * factor + shift, repeated like the channels. The mean
/// is subtracted first: x * factor - mean * factor would round away the digits in which x differs from a large mean.
struct Normalization {
  const float *mean, *factor, *shift;
  bool relu;
};

/// Normalizes n elements, and adds `residual` unless it is null.
[[gnu::always_inline]] inline void normalize_run(std::int64_t n, const Normalization& by, const float* x,
                                                 const float* residual, float* y) {
  if (residual != nullptr)
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - by.mean[i]) * by.factor[i] + by.shift[i] + residual[i];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - by.mean[i]) * by.factor[i] + by.shift[i];
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
  return function_kernel([channels, means = Repeated(channels), factors = Repeated(channels),
                          shifts = Repeated(channels), epsilon = float_attribute(call, "epsilon"),
                          relu = call.attributes.flag("relu")](Inputs in, Outputs out) mutable {
    const auto *variance = floats(in[2]), *scale = floats(in[3]);
    const auto *mean = means.fill(floats(in[1])), *shift = shifts.fill(floats(in[4]));
    const auto* factor = factors.fill([&](auto c) { return inverse_deviation(variance[c], epsilon) * scale[c]; });
    const auto* residual = in.size() == 7 ? floats(in[6]) : nullptr;
    const Normalization by{mean, factor, shift, relu};
    const auto width = channels * pixels_together(channels), whole = in[0].elements() / width * width;
    normalize_runs(width, whole / width, by, floats(in[0]), residual, mutable_floats(out[0]));
    normalize_run(in[0].elements() - whole, by, floats(in[0]) + whole, residual != nullptr ? residual + whole : nullptr,
                  mutable_floats(out[0]) + whole);
  });
}

std::unique_ptr<Kernel> make_batch_norm_grad_sums(const OpCall& call) {
  const auto channels = call.inputs[1].shape.back(0);
  return function_kernel([channels, means = Repeated(channels), totals = ChannelSums(channels),
                          epsilon = float_attribute(call, "epsilon")](Inputs in, Outputs out) mutable {
    const auto* mean = means.fill(floats(in[2]));
    auto* sums = mutable_floats(out[0]);
    totals.add_up(
        in[0].elements(),
        [&](auto n, auto runs, auto at, float* of_dy, float* of_products) {
          add_products(n, runs, floats(in[0]) + at, floats(in[1]) + at, mean, of_dy, of_products);
        },
        [&](std::int64_t c, double of_dy, double of_products) {
          sums[c] = static_cast<float>(of_dy);
          sums[channels + c] = static_cast<float>(of_products) * inverse_deviation(floats(in[3])[c], epsilon);
        });
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
