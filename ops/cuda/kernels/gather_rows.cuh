#pragma once

#include <algorithm>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/device/lanes.cuh"

namespace troupe::cuda {

/// Indices int32 or int64, all of which must be in [0, bound).
struct Indices {
  InvalidReport invalid;
  const std::int32_t* narrow;
  const std::int64_t* wide;
  std::int64_t bound;

  Indices(const Launch& where, const Tensor& indices, std::int64_t rows)
      : invalid(where.invalid),
        narrow(indices.dtype() == DType::int32 ? data_of<std::int32_t>(indices) : nullptr),
        wide(indices.dtype() == DType::int32 ? nullptr : data_of<std::int64_t>(indices)),
        bound(rows) {}

  /// Index number i, or -1 if it is out of range. Reports such an index if `reporting`.
  __device__ std::int64_t at(std::int64_t i, bool reporting) const {
    const std::int64_t index = narrow != nullptr ? narrow[i] : wide[i];
    if (index >= 0 && index < bound) return index;
    if (reporting) invalid(InvalidValue::Kind::index, i, index, bound);
    return -1;
  }
};

/// Gathers some lanes of a row of the result, from the row of the table at its index. They are zeros if the index is
/// out of range.
template <class From, class To, int kLanes, class Convert>
struct GatherLanes {
  Indices indices;
  Divisor lanes_of_row;
  Convert convert;
  const Lanes<From, kLanes>* table;
  Lanes<To, kLanes>* y;

  __device__ void operator()(std::int64_t i) const {
    const auto place = lanes_of_row.quotient(i), lane = i - place * lanes_of_row.divisor();
    const auto row = indices.at(place, lane == 0);
    Lanes<To, kLanes> result{};
    if (row >= 0) {
      const auto elements = table[row * lanes_of_row.divisor() + lane];
      for (int k = 0; k < kLanes; ++k) result.elements[k] = static_cast<To>(convert(elements.elements[k]));
    }
    y[i] = result;
  }
};

/// y[i] = convert(table[indices[i]]) for rows of `width` elements of the table [rows, width], row by row.
template <class From, class To, class Convert>
class GatherRows {
 public:
  GatherRows(std::int64_t rows, std::int64_t width, std::int64_t count, Convert convert)
      : rows_(rows),
        elements_(count * width),
        by_lanes_(std::max<std::int64_t>(1, width / kLanes), elements_),
        by_one_(std::max<std::int64_t>(1, width), elements_),
        divides_(width % kLanes == 0),
        convert_(convert) {}

  void operator()(const Launch& where, const Tensor& table, const Tensor& indices, const Tensor& y) const {
    const auto* from = data_of<From>(table);
    auto* to = mutable_data_of<To>(y);
    const Indices numbers(where, indices, rows_);
    if (divides_ && begins_with_lanes<kLanes>(from) && begins_with_lanes<kLanes>(to))
      run<kLanes>(where, numbers, by_lanes_, from, to);
    else
      run<1>(where, numbers, by_one_, from, to);
  }

 private:
  static constexpr int kLanes = 4;

  template <int kCount>
  void run(const Launch& where, const Indices& indices, const Divisor& of_row, const From* from, To* to) const {
    for_each(where, elements_ / kCount,
             GatherLanes<From, To, kCount, Convert>{indices, of_row, convert_, lanes_of<From, kCount>(from),
                                                    lanes_of<To, kCount>(to)});
  }

  std::int64_t rows_, elements_;
  Divisor by_lanes_, by_one_;
  bool divides_;
  Convert convert_;
};

/// The conversion of rows that are copied.
struct Unchanged {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

}  // namespace troupe::cuda
