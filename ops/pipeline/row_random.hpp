#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "troupe/ops/core/random.hpp"

namespace troupe {

class RowExecutor;

/// The epoch for which a pipeline is read. A pipeline gives the same rows for the same seed and epoch.
struct RowEpoch {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  /// The threads that compute rows ahead; null: the thread that reads the pipeline computes all rows. Must outlive the
  /// streams of the epoch.
  RowExecutor* executor = nullptr;

  /// The epoch for input `input` of a transform with several inputs, each of which has random numbers of its own.
  RowEpoch of_input(std::int64_t input) const {
    const auto number = static_cast<std::uint64_t>(input);
    const auto bits =
        philox(seed, {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), 1, 0});
    return {std::uint64_t{bits[0]} << 32 | bits[1], epoch, executor};
  }
};

/// The random numbers for one row of one transform. They are a function of the seed, the epoch, the transform and the
/// number of the row, so that they do not depend on threads. Used on one thread at a time.
class RowRandom {
 public:
  /// The random numbers for row `row` of transform `transform`, whose number in the pipeline is below 2^32.
  RowRandom(const RowEpoch& epoch, std::int64_t transform, std::int64_t row)
      : seed_(seed_of(epoch, transform)), row_(static_cast<std::uint64_t>(row)) {}

  /// A number uniform in [0, 1), a multiple of 2^-24.
  float uniform() { return static_cast<float>(word() >> 8) * 0x1.0p-24F; }
  /// A number uniform in [low, high), rounded.
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// A whole number uniform in [0, bound). `bound` must be at least 1.
  std::int64_t below(std::int64_t bound) {
    const auto high = word();
    const auto wide = std::uint64_t{high} << 32 | word();
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>((Wide{wide} * static_cast<std::uint64_t>(bound)) >> 64);
  }
  /// True with this probability.
  bool chance(float probability) { return uniform() < probability; }
  /// A number of the standard normal distribution, by the method of Box and Muller (1958).
  float normal() {
    const auto radius = std::sqrt(-2.0F * std::log(1.0F - uniform()));
    return radius * std::cos(2.0F * std::numbers::pi_v<float> * uniform());
  }

  /// The seed of the random numbers of a transform in an epoch.
  static std::uint64_t seed_of(const RowEpoch& epoch, std::int64_t transform) {
    const auto number = static_cast<std::uint64_t>(epoch.epoch);
    const auto bits = philox(epoch.seed, {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                                          0, static_cast<std::uint32_t>(transform)});
    return std::uint64_t{bits[0]} << 32 | bits[1];
  }

 private:
  /// The next 32 random bits. All numbers are made of these words, each of which is used once.
  std::uint32_t word() {
    if (next_ % 4 == 0) {
      const auto block = next_ / 4;
      block_ = philox(seed_, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                              static_cast<std::uint32_t>(row_), static_cast<std::uint32_t>(row_ >> 32)});
    }
    return block_[next_++ % 4];
  }

  std::uint64_t seed_, row_, next_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

}  // namespace troupe
