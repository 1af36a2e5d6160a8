#include "troupe/ops/core/tensor.hpp"

#include <cstring>

#include "troupe/ops/core/allocator.hpp"

namespace troupe {

Tensor::Tensor(const Shape& shape, DType dtype, Device device) {
  if (device.type != DeviceType::cpu) throw Error("tensor", "this build has no memory on " + to_string(device));
  auto body = std::make_shared<Body>();
  body->elements = shape.elements();
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(body->elements), size_of(dtype), &bytes))
    throw Error("tensor", to_string(shape) + " is larger than memory can be");
  const auto& allocator = cpu_allocator();
  body->memory.reset(allocator->allocate(bytes),
                     [allocator, bytes](std::byte* block) { allocator->release(block, bytes); });
  body->data = body->memory.get();
  body->capacity = bytes;
  body->shape = shape;
  body->dtype = dtype;
  body->device = device;
  body_ = std::move(body);
}

Tensor Tensor::view(const Shape& shape, std::size_t byte_offset) const {
  return view(shape, dtype(), byte_offset);
}

Tensor Tensor::view(const Shape& shape, DType dtype, std::size_t byte_offset) const {
  auto body = std::make_shared<Body>(*body_);
  body->shape = shape;
  body->dtype = dtype;
  body->elements = shape.elements();
  std::size_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(static_cast<std::size_t>(body->elements), size_of(dtype), &bytes);
  if (overflows || byte_offset > body_->capacity || bytes > body_->capacity - byte_offset)
    throw Error("tensor", "a view " + to_string(shape) + " reaches past the end of " + to_string(*this));
  body->data = body_->data + byte_offset;
  body->capacity = body_->capacity - byte_offset;
  Tensor tensor;
  tensor.body_ = std::move(body);
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor copy(shape(), dtype(), device());
  if (bytes() > 0) std::memcpy(copy.mutable_raw(), raw(), bytes());
  return copy;
}

long Tensor::use_count() const {
  return body_.use_count();
}

std::byte* Tensor::checked(DType dtype) const {
  if (body_->dtype != dtype) throw Error("tensor", to_string(*this) + " was read as " + std::string(name_of(dtype)));
  return body_->data;
}

std::string to_string(const Tensor& tensor) {
  if (!tensor) return "no tensor";
  return std::string(name_of(tensor.dtype())) + to_string(tensor.shape()) + " on " + to_string(tensor.device());
}

}  // namespace troupe
