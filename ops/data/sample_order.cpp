#include "troupe/ops/data/sample_order.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"

namespace troupe {

SampleOrder SampleOrder::shuffled(std::int64_t size, std::uint64_t seed, std::uint64_t stream) {
  if (size == 0) return {};
  return {size, Shuffled{KeyedPermutation(static_cast<std::uint64_t>(size), seed, stream)}};
}

SampleOrder SampleOrder::drawn(std::int64_t size, std::int64_t buffer, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::int32_t> samples(static_cast<std::size_t>(size));
  std::iota(samples.begin(), samples.end(), 0);
  // The sample for position i is drawn from the samples at positions i to i + buffer - 1, which are in the buffer. The
  // two samples change places, so the sample that was at position i stays in the buffer.
  for (std::int64_t i = 0; i < size; ++i) {
    const auto in_buffer = static_cast<std::uint64_t>(std::min(buffer, size - i));
    const auto drawn = uniform_below(in_buffer, seed, stream, static_cast<std::uint64_t>(i));
    std::swap(samples[static_cast<std::size_t>(i)], samples[static_cast<std::size_t>(i) + drawn]);
  }
  return {size, Drawn{std::move(samples)}};
}

void SampleOrder::expect_positions(std::int64_t first, std::int64_t count) const {
  if (count > 0 && (first < 0 || count > size_ - first))
    throw Error("dataset", "there are no samples at the positions " + std::to_string(first) + " to " +
                               std::to_string(first + count - 1) + " of " + std::to_string(size_));
}

void SampleOrder::copy(std::int64_t first, std::span<std::int32_t> to) const {
  expect_positions(first, static_cast<std::int64_t>(to.size()));
  std::visit(
      [&](const auto& rule) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = rule(first + static_cast<std::int64_t>(i));
      },
      rule_);
}

std::int32_t SampleOrder::at(std::int64_t position) const {
  expect_positions(position, 1);
  return std::visit([&](const auto& rule) { return rule(position); }, rule_);
}

std::vector<std::int32_t> SampleOrder::all() const {
  std::vector<std::int32_t> samples(static_cast<std::size_t>(size_));
  copy(0, samples);
  return samples;
}

}  // namespace troupe
