#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe::ops_test {

using Sizes = std::vector<std::int64_t>;

/// The number of elements of an array.
std::int64_t product(const Sizes& sizes);

/// The number of an element in row-major order, given its index on every axis. It is inline, because references spend
/// most of their time here.
inline std::int64_t flat_of(const Sizes& sizes, std::span<const std::int64_t> index) {
  std::int64_t flat = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) flat = flat * sizes[axis] + index[axis];
  return flat;
}
/// The index on every axis of element number `flat`.
Sizes index_of(const Sizes& sizes, std::int64_t flat);

/// The row-major elements of a reference computation, in double precision for every dtype of the tensor.
struct Array {
  Sizes sizes;
  std::vector<double> data;

  Array() = default;
  explicit Array(Sizes array_sizes)
      : sizes(std::move(array_sizes)), data(static_cast<std::size_t>(product(sizes)), 0.0) {}

  std::int64_t elements() const { return static_cast<std::int64_t>(data.size()); }
  double& at(std::initializer_list<std::int64_t> index) { return data[flat(index)]; }
  double at(std::initializer_list<std::int64_t> index) const { return data[flat(index)]; }

 private:
  std::size_t flat(std::initializer_list<std::int64_t> index) const {
    return static_cast<std::size_t>(flat_of(sizes, {index.begin(), index.size()}));
  }
};

using Arrays = std::vector<Array>;

/// The elements of a tensor in host memory. Throws Error for 16-bit floats.
Array to_array(const Tensor& tensor);
/// A new tensor with the elements of an array. Throws Error for 16-bit floats.
Tensor to_tensor(const Array& array, DType dtype);

/// The largest difference of two arrays divided by the largest magnitude in `expected`, at least 1; infinity if a
/// number is not finite or the sizes differ.
double distance(const Array& actual, const Array& expected);

}  // namespace troupe::ops_test
