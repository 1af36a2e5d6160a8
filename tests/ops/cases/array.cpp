#include "troupe/tests/ops/cases/array.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::ops_test {

std::int64_t product(const Sizes& sizes) {
  std::int64_t result = 1;
  for (auto size : sizes) result *= size;
  return result;
}

Sizes index_of(const Sizes& sizes, std::int64_t flat) {
  Sizes index(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    index[axis] = flat % sizes[axis];
    flat /= sizes[axis];
  }
  return index;
}

namespace {

template <class T>
void copy_from(const Tensor& tensor, std::vector<double>& data) {
  const auto elements = tensor.data<T>();
  std::transform(elements.begin(), elements.end(), data.begin(),
                 [](T element) { return static_cast<double>(element); });
}

template <class T>
Tensor tensor_of(const Array& array) {
  std::vector<T> elements(array.data.size());
  std::transform(array.data.begin(), array.data.end(), elements.begin(), [](double x) { return static_cast<T>(x); });
  return Tensor::from<T>(Shape(array.sizes), elements);
}

}  // namespace

Array to_array(const Tensor& tensor) {
  Array array(tensor.shape().list());
  switch (tensor.dtype()) {
    case DType::float32:
      copy_from<float>(tensor, array.data);
      break;
    case DType::int32:
      copy_from<std::int32_t>(tensor, array.data);
      break;
    case DType::int64:
      copy_from<std::int64_t>(tensor, array.data);
      break;
    case DType::uint8:
      copy_from<std::uint8_t>(tensor, array.data);
      break;
    default:
      throw Error("to_array", to_string(tensor) + " has 16-bit floats: cast it to float32");
  }
  return array;
}

Tensor to_tensor(const Array& array, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return tensor_of<float>(array);
    case DType::int32:
      return tensor_of<std::int32_t>(array);
    case DType::int64:
      return tensor_of<std::int64_t>(array);
    case DType::uint8:
      return tensor_of<std::uint8_t>(array);
    default:
      throw Error("to_tensor", "cannot make a tensor of " + std::string(name_of(dtype)) + ": make float32 and cast it");
  }
}

double distance(const Array& actual, const Array& expected) {
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  if (actual.sizes != expected.sizes) return kInfinity;
  double magnitude = 1.0, difference = 0.0;
  for (std::size_t i = 0; i < expected.data.size(); ++i) {
    if (!std::isfinite(actual.data[i]) || !std::isfinite(expected.data[i])) return kInfinity;
    magnitude = std::max(magnitude, std::abs(expected.data[i]));
    difference = std::max(difference, std::abs(actual.data[i] - expected.data[i]));
  }
  return difference / magnitude;
}

}  // namespace troupe::ops_test
