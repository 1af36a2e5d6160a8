#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <utility>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// The order of the samples of a data set in its epochs. If samples are drawn from a buffer, the order of the next
/// epoch is drawn on another thread during an epoch, because drawing may take as long as an epoch. Used on one thread
/// at a time.
class EpochOrder {
 public:
  EpochOrder(Dataset data, std::uint64_t seed) : data_(std::move(data)), seed_(seed) {}
  EpochOrder(const EpochOrder&) = delete;
  EpochOrder& operator=(const EpochOrder&) = delete;

  /// Returns the order of epoch `epoch`, valid until the next call of this function. Epochs may be requested in any
  /// order, and repeatedly.
  const SampleOrder& of(std::int64_t epoch);

  /// The maximum number of samples of an order that is drawn ahead. The destructor waits for the thread that draws, so
  /// a longer order would delay the end of a training.
  static constexpr std::int64_t kMostDrawnAhead = std::int64_t{1} << 24;

 private:
  void draw_ahead(std::int64_t epoch);

  const Dataset data_;
  const std::uint64_t seed_;
  std::optional<std::int64_t> epoch_;
  SampleOrder order_;
  std::future<SampleOrder> next_;  // order of the epoch after epoch_; its thread reads data_ and seed_
};

}  // namespace troupe
