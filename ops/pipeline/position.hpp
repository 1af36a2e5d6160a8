#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// The position of a reader in the rows of an epoch: a few numbers, which mean something to the transforms of its
/// pipeline alone.
using Position = std::vector<std::int64_t>;

/// Takes the numbers of a position in the order in which they were added. The numbers must outlive the object.
class PositionReader {
 public:
  explicit PositionReader(std::span<const std::int64_t> numbers) : numbers_(numbers) {}

  /// The next number. Throws Error if there is none, or if it is outside of [least, most].
  std::int64_t take(std::int64_t least, std::int64_t most = INT64_MAX) {
    if (numbers_.empty()) refuse();
    const auto number = numbers_.front();
    if (number < least || number > most) refuse();
    numbers_ = numbers_.subspan(1);
    return number;
  }
  /// Throws Error if there are more numbers.
  void finish() const {
    if (!numbers_.empty()) refuse();
  }

 private:
  [[noreturn]] static void refuse() { throw Error("pipeline", "the position does not belong to this pipeline"); }

  std::span<const std::int64_t> numbers_;
};

}  // namespace troupe
