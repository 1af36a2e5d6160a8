#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/device.hpp"
#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/shape.hpp"

namespace troupe {

/// Handle of a dense, row-major block of elements. Copying a handle shares the elements; the block is freed with its
/// last handle. Two pointers wide, so a message carries it cheaply.
///
/// Handles may be copied and dropped on any thread. The elements have no lock: whoever made a tensor fills it, and
/// after it was sent nobody writes to it until every receiver has returned it.
class Tensor {
 public:
  Tensor() = default;

  /// A new, zeroed tensor. The shape must be concrete.
  Tensor(const Shape& shape, DType dtype, Device device = {});

  /// A new tensor with the given elements.
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> elements);
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& elements) {
    return from<T>(shape, std::span<const T>(elements));
  }
  template <class T>
  static Tensor scalar(T value) {
    return from<T>(Shape{}, std::span<const T>(&value, 1));
  }

  /// The same memory under another shape, `byte_offset` further on. Throws if it would reach past the end.
  Tensor view(const Shape& shape, std::size_t byte_offset = 0) const;
  /// As above, with another element type.
  Tensor view(const Shape& shape, DType dtype, std::size_t byte_offset) const;
  /// A new tensor with the same elements.
  Tensor clone() const;

  explicit operator bool() const { return body_ != nullptr; }
  const Shape& shape() const { return body_->shape; }
  DType dtype() const { return body_->dtype; }
  Device device() const { return body_->device; }
  std::int64_t elements() const { return body_->elements; }
  std::size_t bytes() const { return static_cast<std::size_t>(body_->elements) * size_of(body_->dtype); }

  const std::byte* raw() const { return body_->data; }
  std::byte* mutable_raw() const { return body_->data; }
  /// The elements; T must be the dtype.
  template <class T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(checked(DTypeOf<T>::value)), static_cast<std::size_t>(body_->elements)};
  }
  /// The elements for writing, allowed only to whoever made the tensor and has not sent it.
  template <class T>
  std::span<T> mutable_data() const {
    return {reinterpret_cast<T*>(checked(DTypeOf<T>::value)), static_cast<std::size_t>(body_->elements)};
  }
  /// The only element of a tensor that has one.
  template <class T>
  T item() const;

  /// Number of handles to this very tensor (views count apart).
  long use_count() const;
  bool same_as(const Tensor& other) const { return body_ == other.body_; }

 private:
  struct Body {
    std::shared_ptr<std::byte> memory;
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    Shape shape;
    DType dtype = DType::float32;
    Device device;
    std::int64_t elements = 0;
  };
  std::byte* checked(DType dtype) const;

  std::shared_ptr<const Body> body_;
};

/// `float32[128, 784] on cpu:0`.
std::string to_string(const Tensor& tensor);

template <class T>
Tensor Tensor::from(const Shape& shape, std::span<const T> elements) {
  Tensor tensor(shape, DTypeOf<T>::value);
  if (tensor.elements() != static_cast<std::int64_t>(elements.size()))
    throw Error("tensor", to_string(shape) + " does not hold " + std::to_string(elements.size()) + " elements");
  std::copy(elements.begin(), elements.end(), tensor.template mutable_data<T>().begin());
  return tensor;
}

template <class T>
T Tensor::item() const {
  if (elements() != 1) throw Error("tensor", to_string(*this) + " is not one element");
  return data<T>()[0];
}

}  // namespace troupe
