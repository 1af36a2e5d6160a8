#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe::cpu {

// The channels of a pixel are contiguous and often few. Loops treat pixels_together() neighboring pixels as one pixel
// with more channels, so that the loops are long enough for wide vectors. These pixels have up to kRunWidth elements
// together, unless a single pixel has more.
constexpr std::int64_t kRunWidth = 64;

inline std::int64_t pixels_together(std::int64_t channels) {
  return std::max<std::int64_t>(1, kRunWidth / channels);
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
  // The largest number of terms that are added up in float before their sum is added to a sum in double.
  static constexpr std::int64_t kFloatAdditions = 64;

  std::int64_t channels_, width_;
  std::vector<double> totals_;
  std::vector<float> sums_;
};

/// Adds up two terms of each element of `runs` runs of n elements. terms(begin, i, a, b) adds the terms of element i of
/// the run that begins at `begin` to a and b. The sums over all runs are added to first[i] and second[i], which must be
/// 0 before. For n = kRunWidth the sums stay in registers.
template <class Terms>
[[gnu::always_inline]] inline void add_runs(std::int64_t n, std::int64_t runs, float* __restrict first,
                                            float* __restrict second, Terms terms) {
  if (n == kRunWidth) {
    float a[kRunWidth] = {}, b[kRunWidth] = {};
    for (std::int64_t run = 0; run < runs; ++run)
      for (std::int64_t i = 0; i < kRunWidth; ++i) terms(run * kRunWidth, i, a[i], b[i]);
    for (std::int64_t i = 0; i < kRunWidth; ++i) first[i] = a[i];
    for (std::int64_t i = 0; i < kRunWidth; ++i) second[i] = b[i];
    return;
  }
  for (std::int64_t run = 0; run < runs; ++run)
    for (std::int64_t i = 0; i < n; ++i) terms(run * n, i, first[i], second[i]);
}

}  // namespace troupe::cpu
