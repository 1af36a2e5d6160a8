#pragma once

#include <cmath>

#include "troupe/ops/cpu/bfloat16_vectors.hpp"
#include "troupe/ops/cpu/channel_sums.hpp"
#include "troupe/ops/cpu/elements.hpp"

namespace troupe::cpu {

/// The numbers by which elements are normalized: y = (x - mean) * factor + shift, repeated like the channels. The mean
/// is subtracted first: x * factor - mean * factor would round away the digits in which x differs from a large mean.
struct ChannelNormalization {
  const float *mean, *factor, *shift;
  bool relu;
};

[[gnu::always_inline]] inline float normalized(const ChannelNormalization& by, std::int64_t i, float x) {
  return (x - by.mean[i]) * by.factor[i] + by.shift[i];
}

/// The numbers of a ChannelNormalization for the elements i to i + kEvenOdd of a run.
struct EvenOddNormalization {
  EvenOdd mean, factor, shift;

  [[gnu::always_inline]] EvenOddNormalization(const ChannelNormalization& by, std::int64_t i) {
    load(by.mean + i, mean);
    load(by.factor + i, factor);
    load(by.shift + i, shift);
  }
  /// Sets y to the normalized elements of x.
  [[gnu::always_inline]] void normalize(const EvenOdd& x, EvenOdd& y) const {
    y.even = (x.even - mean.even) * factor.even + shift.even;
    y.odd = (x.odd - mean.odd) * factor.odd + shift.odd;
  }
};

inline float inverse_deviation(float variance, float epsilon) {
  return 1.0F / std::sqrt(variance + epsilon);
}

/// The numbers of a ChannelNormalization for a call. The object keeps its memory between runs.
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
  ChannelNormalization fill(const float* mean, const float* variance, const float* scale, const float* shift) {
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

}  // namespace troupe::cpu
