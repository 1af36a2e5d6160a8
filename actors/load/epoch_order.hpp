#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// The order of the samples of a data set in its epochs. The order of the next epoch is drawn on another thread during
/// an epoch, because drawing may take as long as an epoch. Used on one thread at a time.
class EpochOrder {
 public:
  EpochOrder(Dataset data, std::uint64_t seed) : data_(std::move(data)), seed_(seed) {}
  EpochOrder(const EpochOrder&) = delete;
  EpochOrder& operator=(const EpochOrder&) = delete;

  /// Returns the indices of the samples in the order of epoch `epoch`, valid until the next call of this function.
  /// Epochs may be requested in any order, and repeatedly.
  std::span<const std::int32_t> of(std::int64_t epoch);

  /// The maximum number of samples of an order that is drawn ahead. The destructor waits for the thread that draws, so
  /// a longer order would delay the end of a training.
  static constexpr std::int64_t kMostDrawnAhead = std::int64_t{1} << 24;

 private:
  void draw_ahead(std::int64_t epoch);

  const Dataset data_;
  const std::uint64_t seed_;
  std::optional<std::int64_t> epoch_;
  std::vector<std::int32_t> order_;
  std::future<std::vector<std::int32_t>> next_;  // order of the epoch after epoch_; its thread reads data_ and seed_
};

}  // namespace troupe
