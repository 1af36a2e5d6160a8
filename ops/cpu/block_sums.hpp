#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe::cpu {

/// Sums over many rows of `width` floats. Rows are added up in blocks, and the sums of the blocks are added to the
/// result. A single float sum of equal terms would stop growing at 2^24 terms. If all rows fit one block, they are
/// added to the result itself. The object keeps its memory between runs.
class BlockSums {
 public:
  static constexpr std::int64_t kRowsOfBlock = 4096;

  /// `rows` is the number of rows of a run, `rows_of_block` the number of rows of a block.
  BlockSums(std::int64_t width, std::int64_t rows, std::int64_t rows_of_block = kRowsOfBlock)
      : width_(width),
        rows_of_block_(rows_of_block),
        block_(static_cast<std::size_t>(rows > rows_of_block ? width : 0), 0.0F) {}

  /// Begins a run: sets sums[width] to 0. The sums must stay valid until finish().
  void begin(float* sums) {
    sums_ = sums;
    rows_ = 0;
    std::fill_n(sums, width_, 0.0F);
  }
  /// Returns the array [width] to which the next row must be added.
  float* next_row() {
    if (block_.empty()) return sums_;
    if (rows_ == rows_of_block_) finish();
    ++rows_;
    return block_.data();
  }
  /// Completes the sums.
  void finish() {
    for (std::size_t i = 0; i < block_.size(); ++i) sums_[i] += block_[i];
    std::ranges::fill(block_, 0.0F);
    rows_ = 0;
  }

 private:
  std::int64_t width_, rows_of_block_, rows_ = 0;
  std::vector<float> block_;
  float* sums_ = nullptr;
};

}  // namespace troupe::cpu
