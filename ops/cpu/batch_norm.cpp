#include <algorithm>

#include "troupe/ops/cpu/channel_normalization.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

[[gnu::always_inline]] inline void add_squares_of_pairs(std::int64_t n, std::int64_t runs, const BFloat16* x,
                                                        const float* center, float* sums, float* squares) {
  add_runs_of_pairs(n, runs, sums, squares, [=](std::int64_t i) {
    EvenOdd from;
    load(center + i, from);
    return [=](std::int64_t begin, EvenOdd& sum, EvenOdd& square) {
      EvenOdd d;
      load(x + begin, d);
      d.even -= from.even;
      d.odd -= from.odd;
      sum.even += d.even;
      sum.odd += d.odd;
      square.even += d.even * d.even;
      square.odd += d.odd * d.odd;
    };
  });
}

template <class T>
[[gnu::always_inline]] inline void add_squares_of(std::int64_t n, std::int64_t runs, const T* __restrict x,
                                                  const float* __restrict center, float* __restrict sums,
                                                  float* __restrict squares) {
  if constexpr (std::is_same_v<T, BFloat16>)
    if (n % kEvenOdd == 0) return add_squares_of_pairs(n, runs, x, center, sums, squares);
  add_runs(n, runs, sums, squares, [=](std::int64_t begin, std::int64_t i, float& sum, float& square) {
    const float d = static_cast<float>(x[begin + i]) - center[i];
    sum += d;
    square += d * d;
  });
}

[[gnu::always_inline]] inline void normalize_pairs(std::int64_t n, std::int64_t runs, const ChannelNormalization& by,
                                                   const BFloat16* x, const BFloat16* residual, BFloat16* y) {
  const bool relu = by.relu;
  compute_pairs(n, runs, [=](std::int64_t i) {
    return [=, norm = EvenOddNormalization(by, i)](std::int64_t begin) {
      EvenOdd result;
      load(x + begin, result);
      norm.normalize(result, result);
      if (residual != nullptr) {
        EvenOdd more;
        load(residual + begin, more);
        result.even += more.even;
        result.odd += more.odd;
      }
      if (relu) {
        clear_where_negative(result.even);
        clear_where_negative(result.odd);
      }
      store(result, y + begin);
    };
  });
}

/// Normalizes n elements, and adds `residual` unless it is null.
template <class T>
[[gnu::always_inline]] inline void normalize_run(std::int64_t n, const ChannelNormalization& by, const T* x,
                                                 const T* residual, T* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    float result = normalized(by, i, static_cast<float>(x[i]));
    if (residual != nullptr) result += static_cast<float>(residual[i]);
    y[i] = T(by.relu && result < 0.0F ? 0.0F : result);
  }
}

/// Normalizes `runs` runs of n elements. For n = kRunWidth the numbers of the channels stay in registers.
template <class T>
[[gnu::always_inline]] inline void normalize_all(std::int64_t n, std::int64_t runs, const ChannelNormalization& by,
                                                 const T* x, const T* residual, T* y) {
  if constexpr (std::is_same_v<T, BFloat16>)
    if (n % kEvenOdd == 0) return normalize_pairs(n, runs, by, x, residual, y);
  if (n != kRunWidth) {
    for (std::int64_t at = 0; at < n * runs; at += n)
      normalize_run(n, by, x + at, residual != nullptr ? residual + at : nullptr, y + at);
    return;
  }
  float mean[kRunWidth], factor[kRunWidth], shift[kRunWidth];
  std::copy_n(by.mean, kRunWidth, mean);
  std::copy_n(by.factor, kRunWidth, factor);
  std::copy_n(by.shift, kRunWidth, shift);
  for (std::int64_t at = 0; at < n * runs; at += kRunWidth) {
    float result[kRunWidth];
    for (std::int64_t i = 0; i < kRunWidth; ++i)
      result[i] = (static_cast<float>(x[at + i]) - mean[i]) * factor[i] + shift[i];
    if (residual != nullptr)
      for (std::int64_t i = 0; i < kRunWidth; ++i) result[i] += static_cast<float>(residual[at + i]);
    if (by.relu)
      for (std::int64_t i = 0; i < kRunWidth; ++i) result[i] = result[i] < 0.0F ? 0.0F : result[i];
    for (std::int64_t i = 0; i < kRunWidth; ++i) y[at + i] = T(result[i]);
  }
}

// The loops for each float dtype. They are macros, because clang cannot compile a template for several vector widths.
#define TROUPE_NORM_LOOPS(T)                                                                                \
  TROUPE_SIMD_CLONES void add_squares(std::int64_t n, std::int64_t runs, const T* __restrict x,             \
                                      const float* __restrict center, float* __restrict sums,               \
                                      float* __restrict squares) {                                          \
    add_squares_of(n, runs, x, center, sums, squares);                                                      \
  }                                                                                                         \
  TROUPE_SIMD_CLONES void normalize_runs(std::int64_t n, std::int64_t runs, const ChannelNormalization& by, \
                                         const T* x, const T* residual, T* y) {                             \
    normalize_all(n, runs, by, x, residual, y);                                                             \
  }
TROUPE_NORM_LOOPS(float)
TROUPE_NORM_LOOPS(Float16)
TROUPE_NORM_LOOPS(BFloat16)
#undef TROUPE_NORM_LOOPS

/// Computes means[channels], the mean of up to 16 pixels at equal distances, as a center near the mean of all pixels.
template <class T>
void mean_of_sample(std::int64_t pixels, std::int64_t channels, const T* x, float* means) {
  const auto count = std::min<std::int64_t>(16, pixels);
  const auto weight = 1.0F / static_cast<float>(count);
  std::fill_n(means, channels, 0.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto* pixel = x + i * pixels / count * channels;
    for (std::int64_t c = 0; c < channels; ++c) means[c] += static_cast<float>(pixel[c]) * weight;
  }
}

}  // namespace

std::unique_ptr<Kernel> make_replica_moments(const OpCall& call) {
  const auto channels = call.inputs[0].shape.back(0);
  return with_float_type(call.inputs[0].dtype, [channels](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return function_kernel([channels, center = Repeated(channels), totals = ChannelSums(channels)](
                               Inputs in, Outputs out) mutable {
      const auto* x = elements<T>(in[0]);
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
  return with_float_type(call.inputs[0].dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return function_kernel([channels, numbers = RepeatedNormalization(call, channels)](Inputs in, Outputs out) mutable {
      const auto by = numbers.fill(floats(in[1]), floats(in[2]), floats(in[3]), floats(in[4]));
      const auto *x = elements<T>(in[0]), *residual = in.size() == 7 ? elements<T>(in[6]) : nullptr;
      auto* y = elements<T>(out[0]);
      const auto width = channels * pixels_together(channels), whole = in[0].elements() / width * width;
      normalize_runs(width, whole / width, by, x, residual, y);
      normalize_run(in[0].elements() - whole, by, x + whole, residual != nullptr ? residual + whole : nullptr,
                    y + whole);
    });
  });
}

}  // namespace troupe::cpu
