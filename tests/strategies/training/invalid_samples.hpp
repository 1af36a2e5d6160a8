#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

// Data with samples that cannot be used, for tests of fits that leave them out.

namespace troupe::testing {

inline constexpr std::int64_t kSampleCount = 48;
inline constexpr std::int64_t kRowsOfBatch = 8;
inline constexpr std::int32_t kBadLabel = 1'000;

/// Rows [first, end) of the small data set without the rows in `without`. The labels of the rows in `bad` are no class.
inline Dataset rows_without(const std::set<std::int64_t>& without, const std::set<std::int64_t>& bad = {}) {
  const auto all = small_dataset(kSampleCount);
  const auto labels = all.array("labels");
  std::vector<std::int32_t> rows;
  for (std::int32_t row = 0; row < kSampleCount; ++row)
    if (!without.contains(row)) rows.push_back(row);
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor kept(Shape{count, 4, 3}, DType::float32), kept_labels(Shape{count}, DType::int32);
  all.gather(rows, 0, kept);
  for (std::size_t i = 0; i < rows.size(); ++i)
    kept_labels.mutable_data<std::int32_t>()[i] =
        bad.contains(rows[i]) ? kBadLabel : labels.data<std::int32_t>()[static_cast<std::size_t>(rows[i])];
  return Dataset::from_arrays({{"features", kept}, {"labels", kept_labels}}).batch(kRowsOfBatch);
}

inline std::set<std::int64_t> batch_of(std::int64_t row) {
  std::set<std::int64_t> rows;
  for (auto first = row / kRowsOfBatch * kRowsOfBatch, i = first; i < first + kRowsOfBatch; ++i) rows.insert(i);
  return rows;
}

/// Fits until the epoch is over; each error is an InvalidSample, whose row is put into `bad`. Throws if the text of an
/// error does not name the row, or the epoch is not over after 10 errors. May be called from any thread.
inline void fit_again_and_again(Trainer& trainer, const Dataset& data, std::vector<std::int64_t>& bad) {
  while (true) {
    try {
      trainer.fit(data);
      return;
    } catch (const InvalidSample& invalid) {
      bad.push_back(invalid.sample());
      const std::string text = invalid.what();
      const auto row = "row " + std::to_string(bad.back()) + " of the data set";
      if (bad.size() == 10 || text.find("label 1000") == std::string::npos || text.find(row) == std::string::npos)
        throw std::runtime_error("error " + std::to_string(bad.size()) + ": " + text);
    }
  }
}

/// Samples whose features `read(row, to)` writes. The labels of the rows in `bad` are no class.
template <class Read>
Dataset rows_read_by(Read read, const std::set<std::int64_t>& bad = {}) {
  return Dataset::of_rows(kSampleCount)
      .with_function<float>("features", {4, 3}, std::move(read))
      .with_field("labels", rows_without({}, bad).array("labels"))
      .batch(kRowsOfBatch);
}

/// The small data set, whose function cannot read the features of the rows in `damaged`. The labels of the rows in
/// `bad` are no class.
inline Dataset damaged_rows(const std::set<std::int64_t>& damaged, const std::set<std::int64_t>& bad = {},
                            std::int64_t prefetched = 0) {
  const auto read = [damaged](std::int64_t row, std::span<float> to) {
    if (damaged.contains(row)) throw std::runtime_error("record " + std::to_string(row) + " is damaged");
    std::ranges::fill(to, 0.1F * static_cast<float>(row % 5));
  };
  return rows_read_by(read, bad).prefetch(prefetched);
}

/// The rows of the samples for which a fit has left out batches.
inline std::vector<std::int64_t> skipped_rows(const FitResult& result) {
  std::vector<std::int64_t> rows;
  for (const auto& sample : result.skipped_samples) rows.push_back(sample.sample);
  return rows;
}

}  // namespace troupe::testing
