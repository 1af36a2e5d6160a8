#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/device.hpp"
#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/shape.hpp"

// TROUPE_LIFETIMEBOUND marks a member function whose result refers to memory that the object keeps alive. The compiler
// warns if the result outlives a temporary object. The macro is empty for compilers without the attribute
// clang::lifetimebound.
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define TROUPE_LIFETIMEBOUND [[clang::lifetimebound]]
#endif
#endif
#ifndef TROUPE_LIFETIMEBOUND
#define TROUPE_LIFETIMEBOUND
#endif

namespace troupe {

class Stream;

/// Handle of a dense, row-major block of elements. Copies of a handle share the elements; the last handle frees the
/// block. A handle is two pointers wide, so messages carry it cheaply.
///
/// Handles may be copied and dropped on any thread. The elements have no lock: the owner of a new tensor fills it. Once
/// the tensor is sent in a message, no thread writes to it until every receiver has returned the credit for the
/// message, by which the receiver says that it no longer reads the tensor.
///
/// Elements in memory that the host cannot access are reached through streams, or copied by to() and copy_to_host();
/// data(), item() and raw() throw Error for such tensors. Every accessor of an empty handle throws Error, except
/// address().
class Tensor {
 public:
  /// A handle without a tensor.
  Tensor() = default;

  /// A new, zeroed tensor. Throws Error if the shape has the leading size kBatch or the device is out of memory.
  Tensor(const Shape& shape, DType dtype, Device device = {});
  /// A tensor on existing memory, which the tensor keeps alive. The memory must lie on the device and hold all
  /// elements. Throws Error if `memory` is null and the tensor has elements.
  Tensor(std::shared_ptr<std::byte> memory, const Shape& shape, DType dtype, Device device = {});
  /// A new, zeroed tensor in host memory that is pinned for asynchronous copies to and from `device`.
  static Tensor pinned(const Shape& shape, DType dtype, Device device);

  /// A new tensor in CPU memory with a copy of the elements. Throws Error if the shape has another number of elements.
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

  /// A view: a tensor with the memory of this tensor from `byte_offset` on, and another shape. Throws Error if the view
  /// reaches past the end of this tensor's memory.
  Tensor view(const Shape& shape, std::size_t byte_offset = 0) const { return view(shape, dtype(), byte_offset); }
  /// A view with another shape and dtype. Throws Error if the view reaches past the end of this tensor's memory.
  Tensor view(const Shape& shape, DType dtype, std::size_t byte_offset) const;
  /// A view of the rows `first` to `first + count - 1`. Rows are counted along the first axis.
  Tensor rows(std::int64_t first, std::int64_t count) const;
  /// Sets `view` to a view of this tensor. Allocates nothing if `view` is the only handle of another tensor or view,
  /// whose Body is then reused. Throws Error if the view reaches past the end of this tensor's memory.
  void view_into(Tensor& view, const Shape& shape, DType dtype, std::size_t byte_offset) const;
  /// Drops the reference of this handle to its memory, but keeps the Body for view_into() if no other handle has it.
  /// Call view_into() on the handle before using it again.
  void release_view();
  /// A new tensor with the same elements on the same device. Blocks like to().
  Tensor clone() const { return to(device()); }
  /// A new tensor with the same elements on a device. Blocks until the copy and all work launched on this tensor's
  /// device are complete, so training steps should not call it.
  Tensor to(Device device) const;
  /// Returns this tensor if the host can access the elements, else a copy in host memory. Making the copy blocks like
  /// to().
  Tensor copy_to_host() const { return host_accessible() ? *this : to(Device{}); }
  /// A new tensor on the CPU with the same elements. Throws Error if the host cannot access the elements. Does not wait
  /// for work that was launched on a device.
  Tensor host_copy() const;

  explicit operator bool() const { return body_ != nullptr; }
  const Shape& shape() const TROUPE_LIFETIMEBOUND { return body().shape; }
  DType dtype() const { return body().dtype; }
  Device device() const { return body().device; }
  std::int64_t elements() const { return body().elements; }
  std::size_t bytes() const { return static_cast<std::size_t>(body().elements) * size_of(body_->dtype); }
  /// True if the host may read and write the elements.
  bool host_accessible() const { return body().host_accessible; }

  /// The address of the elements on the device, for kernels and copies; may be null if there are no elements. Does not
  /// check that the handle is not empty, which the caller must ensure.
  std::byte* address() const TROUPE_LIFETIMEBOUND { return body_->data; }
  /// The address of the elements as bytes. Throws Error if the host cannot access the elements.
  const std::byte* raw() const TROUPE_LIFETIMEBOUND { return mutable_raw(); }
  std::byte* mutable_raw() const TROUPE_LIFETIMEBOUND {
    if (!host_accessible()) [[unlikely]]
      refuse_host_access();
    return body_->data;
  }
  /// The elements. Throws Error if T is not the C++ type of the dtype or the host cannot access the elements.
  template <class T>
  std::span<const T> data() const TROUPE_LIFETIMEBOUND {
    return mutable_data<T>();
  }
  /// The elements for writing; throws the errors of data(). Only the owner of a tensor that has not been sent may
  /// write.
  template <class T>
  std::span<T> mutable_data() const TROUPE_LIFETIMEBOUND {
    if (dtype() != DTypeOf<T>::value) [[unlikely]]
      refuse_dtype(DTypeOf<T>::value);
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<std::size_t>(body_->elements)};
  }
  /// The element of a tensor with one element. Throws Error if the tensor has another number of elements, and the
  /// errors of data().
  template <class T>
  T item() const;

  /// The number of handles of this tensor. Handles of views of the tensor do not count.
  long use_count() const { return body_.use_count(); }
  /// Whether the memory has another handle: one of this tensor, of a view of it, or of a tensor whose view this is.
  bool has_other_handles() const { return body_.use_count() > 1 || body().memory.use_count() > 1; }
  bool same_as(const Tensor& other) const { return body_ == other.body_; }

 private:
  /// The data that all handles of a tensor share. A view has its own Body, which keeps the same memory alive.
  struct Body {
    std::shared_ptr<std::byte> memory;
    std::byte* data = nullptr;
    std::size_t capacity = 0;  // bytes from `data` to the end of the memory
    Shape shape;
    DType dtype = DType::float32;
    Device device;
    bool host_accessible = true;
    std::int64_t elements = 0;
  };
  void fill_view(Body& view, const Shape& shape, DType dtype, std::size_t byte_offset) const;
  /// The Body if this handle is the only one that has it, else null.
  Body* exclusive_body() const;
  const Body& body() const {
    if (body_ == nullptr) [[unlikely]]
      refuse_no_tensor();
    return *body_;
  }
  [[noreturn]] void refuse_dtype(DType dtype) const;
  [[noreturn]] void refuse_host_access() const;
  [[noreturn]] static void refuse_no_tensor();

  std::shared_ptr<const Body> body_;
};

/// The tensor as text, such as `float32[128, 784] on cpu:0`.
std::string to_string(const Tensor& tensor);

/// Launches on `stream` a copy of the elements of `from` to `to`. Both tensors must stay allocated until an event after
/// the copy is done. Throws Error if the tensors differ in dtype or number of elements, or if one lies neither in host
/// memory nor on a device of the stream's type.
void copy(Stream& stream, const Tensor& from, const Tensor& to);
/// Copies the elements of `from` to `to` on a new stream and blocks until the copy is complete. Waits for earlier work
/// on the device of `from` only if the host cannot access `from` and `to` lies on another device; in the other cases
/// the caller must have waited for work that uses the tensors. No work on either tensor may be launched meanwhile.
/// Throws Error if the tensors differ in dtype or number of elements.
void copy_and_wait(const Tensor& from, const Tensor& to);

template <class T>
Tensor Tensor::from(const Shape& shape, std::span<const T> elements) {
  Tensor tensor(shape, DTypeOf<T>::value);
  if (tensor.elements() != static_cast<std::int64_t>(elements.size()))
    throw Error("tensor", to_string(shape) + " does not hold " + std::to_string(elements.size()) + " elements");
  if (!elements.empty()) std::memcpy(tensor.mutable_raw(), elements.data(), elements.size_bytes());
  return tensor;
}

template <class T>
T Tensor::item() const {
  if (elements() != 1) throw Error("tensor", to_string(*this) + " is not one element");
  return data<T>()[0];
}

}  // namespace troupe
