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
#include "troupe/ops/core/lifetime.hpp"
#include "troupe/ops/core/shape.hpp"

namespace troupe {

class Stream;

/// Handle of a dense, row-major block of elements. Copying a handle shares the elements; the block is freed with its
/// last handle. Two pointers wide, so a message carries it cheaply.
///
/// Handles may be copied and dropped on any thread. The elements have no lock: whoever made a tensor fills it, and
/// after it was sent nobody writes to it until every receiver has returned it.
///
/// Elements in memory that the host may not touch are reached through streams, or copied by to() and copy_to_host();
/// data(), item() and raw() throw Error for them. Every accessor of an empty handle throws
/// Error.
class Tensor {
 public:
  /// A handle without a tensor.
  Tensor() = default;

  /// A new, zeroed tensor. The shape must be concrete.
  Tensor(const Shape& shape, DType dtype, Device device = {});
  /// A tensor on existing memory, which it keeps alive. The memory must lie on the device and hold all elements.
  Tensor(std::shared_ptr<std::byte> memory, const Shape& shape, DType dtype, Device device = {});
  /// A new, zeroed tensor in host memory that is pinned for asynchronous copies to and from `device`.
  static Tensor pinned(const Shape& shape, DType dtype, Device device);

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
  /// The memory of some rows, along the first axis.
  Tensor rows(std::int64_t first, std::int64_t count) const;
  /// As above, in place of a handle that may hold an older view: nothing is allocated if it is that one's only handle.
  void view_into(Tensor& view, const Shape& shape, DType dtype, std::size_t byte_offset) const;
  /// Lets go of the memory until the next view_into() this handle, without which it must not be used.
  void release_view();
  /// A new tensor with the same elements on the same device. Blocks like to().
  Tensor clone() const { return to(device()); }
  /// A new tensor with the same elements on a device. Blocks until all work launched on this tensor's device and the
  /// copy are complete: a convenience, not for every step.
  Tensor to(Device device) const;
  /// This tensor if the host may touch it, else a copy in host memory. Blocks like to().
  Tensor copy_to_host() const { return host_accessible() ? *this : to(Device{}); }

  explicit operator bool() const { return body_ != nullptr; }
  const Shape& shape() const TROUPE_LIFETIMEBOUND { return body().shape; }
  DType dtype() const { return body().dtype; }
  Device device() const { return body().device; }
  std::int64_t elements() const { return body().elements; }
  std::size_t bytes() const { return static_cast<std::size_t>(body().elements) * size_of(body_->dtype); }
  /// True if the host may read and write the elements.
  bool host_accessible() const { return body().host_accessible; }

  /// Where the elements lie on the device, for kernels and copies. Not checked; null if there are no elements.
  std::byte* address() const TROUPE_LIFETIMEBOUND { return body_->data; }
  /// The bytes of the elements, in host memory.
  const std::byte* raw() const TROUPE_LIFETIMEBOUND { return mutable_raw(); }
  std::byte* mutable_raw() const TROUPE_LIFETIMEBOUND {
    if (!host_accessible()) [[unlikely]]
      refuse_host_access();
    return body_->data;
  }
  /// The elements; T must be the dtype.
  template <class T>
  std::span<const T> data() const TROUPE_LIFETIMEBOUND {
    return mutable_data<T>();
  }
  /// The elements for writing, allowed only to whoever made the tensor and has not sent it.
  template <class T>
  std::span<T> mutable_data() const TROUPE_LIFETIMEBOUND {
    if (dtype() != DTypeOf<T>::value) [[unlikely]]
      refuse_dtype(DTypeOf<T>::value);
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<std::size_t>(body_->elements)};
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
    bool host_accessible = true;
    std::int64_t elements = 0;
  };
  static std::shared_ptr<Body> make_body(const Shape& shape, DType dtype, Device device);
  void fill_view(Body& view, const Shape& shape, DType dtype, std::size_t byte_offset) const;
  Body* only_handle_of() const;
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

/// `float32[128, 784] on cpu:0`.
std::string to_string(const Tensor& tensor);

/// Launches a copy of all elements. Both tensors have one dtype and number of elements, and are in host memory or on
/// devices of the stream's kind. They must stay until an event after the copy is done. Throws Error if they differ.
void copy(Stream& stream, const Tensor& from, const Tensor& to);
/// Copies all elements and blocks until they have arrived. No work on either tensor may be launched meanwhile.
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
