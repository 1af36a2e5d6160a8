#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "troupe/ops/core/keyed_permutation.hpp"

namespace troupe {

/// The order in which an epoch visits the samples of a data set: a permutation of the numbers 0 to size() - 1. Except
/// for drawn(), an order takes constant memory, and any position can be read at once.
class SampleOrder {
 public:
  SampleOrder() : SampleOrder(0, InOrder{}) {}
  static SampleOrder in_order(std::int64_t size) { return {size, InOrder{}}; }
  /// Position p has sample (p mod `streams`) * of_stream + p / `streams`, where of_stream is `size` / `streams`. `size`
  /// must be a multiple of `streams`, which must be at least 1.
  static SampleOrder in_streams(std::int64_t size, std::int64_t streams) {
    return {size, Streams{streams, size / streams}};
  }
  /// All samples shuffled, by the permutation number `stream` of a seed.
  static SampleOrder shuffled(std::int64_t size, std::uint64_t seed, std::uint64_t stream);
  /// Each sample is drawn from a buffer of `buffer` samples, and the next sample takes its place in the buffer. Takes 4
  /// bytes for each sample, and time in proportion to `size`.
  static SampleOrder drawn(std::int64_t size, std::int64_t buffer, std::uint64_t seed, std::uint64_t stream);

  std::int64_t size() const { return size_; }
  /// Writes the samples at the positions from `first` on to `to`. Throws Error if there is no such position.
  void copy(std::int64_t first, std::span<std::int32_t> to) const;
  /// The sample at a position. Throws Error if there is no such position.
  std::int32_t at(std::int64_t position) const;
  /// The samples at all positions.
  std::vector<std::int32_t> all() const;

 private:
  struct InOrder {
    std::int32_t operator()(std::int64_t position) const { return static_cast<std::int32_t>(position); }
  };
  struct Streams {
    std::int64_t streams, of_stream;
    std::int32_t operator()(std::int64_t position) const {
      return static_cast<std::int32_t>(position % streams * of_stream + position / streams);
    }
  };
  struct Shuffled {
    KeyedPermutation permutation;
    std::int32_t operator()(std::int64_t position) const {
      return static_cast<std::int32_t>(permutation(static_cast<std::uint64_t>(position)));
    }
  };
  struct Drawn {
    std::vector<std::int32_t> samples;
    std::int32_t operator()(std::int64_t position) const { return samples[static_cast<std::size_t>(position)]; }
  };
  using Rule = std::variant<InOrder, Streams, Shuffled, Drawn>;
  void expect_positions(std::int64_t first, std::int64_t count) const;
  SampleOrder(std::int64_t size, Rule rule) : size_(size), rule_(std::move(rule)) {}

  std::int64_t size_;
  Rule rule_;
};

}  // namespace troupe
