#include "troupe/ops/core/tensor.hpp"

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/only_handle.hpp"

namespace troupe {

namespace {

/// The number of bytes of a tensor's elements. Throws Error if the number does not fit 64 bits.
std::size_t bytes_of(const Shape& shape, DType dtype) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(shape.elements()), size_of(dtype), &bytes))
    throw Error("tensor", to_string(shape) + " is larger than memory can be");
  return bytes;
}

}  // namespace

Tensor::Tensor(const Shape& shape, DType dtype, Device device)
    : Tensor(backend_of(device).allocate(device, bytes_of(shape, dtype)), shape, dtype, device) {}

Tensor::Tensor(std::shared_ptr<std::byte> memory, const Shape& shape, DType dtype, Device device) {
  auto body = std::make_shared<Body>();
  body->capacity = bytes_of(shape, dtype);
  body->data = memory.get();
  body->memory = std::move(memory);
  body->shape = shape;
  body->dtype = dtype;
  body->device = device;
  body->host_accessible = backend_of(device).host_accessible();
  body->elements = shape.elements();
  if (body->data == nullptr && body->capacity > 0) throw Error("tensor", "no memory was given for " + to_string(shape));
  body_ = std::move(body);
}

Tensor Tensor::pinned(const Shape& shape, DType dtype, Device device) {
  return {backend_of(device).allocate_pinned(bytes_of(shape, dtype)), shape, dtype};
}

Tensor Tensor::view(const Shape& shape, DType dtype, std::size_t byte_offset) const {
  auto view = std::make_shared<Body>();
  fill_view(*view, shape, dtype, byte_offset);
  Tensor tensor;
  tensor.body_ = std::move(view);
  return tensor;
}

void Tensor::fill_view(Body& view, const Shape& shape, DType dtype, std::size_t byte_offset) const {
  const auto elements = shape.elements();
  std::size_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(static_cast<std::size_t>(elements), size_of(dtype), &bytes);
  if (overflows || byte_offset > body().capacity || bytes > body().capacity - byte_offset)
    throw Error("tensor", "a view " + to_string(shape) + " reaches past the end of " + to_string(*this));
  view = body();
  view.shape = shape;
  view.dtype = dtype;
  view.elements = elements;
  view.data += byte_offset;
  view.capacity -= byte_offset;
}

Tensor::Body* Tensor::exclusive_body() const {
  return is_only_handle(body_) ? const_cast<Body*>(body_.get()) : nullptr;
}

Tensor Tensor::rows(std::int64_t first, std::int64_t count) const {
  const auto row_bytes = static_cast<std::size_t>(shape().row_elements()) * size_of(dtype());
  return view(shape().with_first(count), static_cast<std::size_t>(first) * row_bytes);
}

void Tensor::view_into(Tensor& view, const Shape& shape, DType dtype, std::size_t byte_offset) const {
  if (auto* body = view.exclusive_body(); body != nullptr && body != body_.get())
    fill_view(*body, shape, dtype, byte_offset);
  else
    view = this->view(shape, dtype, byte_offset);
}

void Tensor::release_view() {
  auto* body = exclusive_body();
  if (body == nullptr)
    body_ = nullptr;
  else
    *body = Body();
}

Tensor Tensor::to(Device device) const {
  Tensor moved(shape(), dtype(), device);
  backend_of(this->device()).synchronize(this->device());
  // The copy runs on this tensor's device if the host cannot access its memory, else on the target device.
  const auto stream_device = host_accessible() ? device : this->device();
  const auto stream = backend_of(stream_device).make_stream(stream_device);
  copy(*stream, *this, moved);
  stream->record().wait();
  return moved;
}

Tensor Tensor::host_copy() const {
  Tensor copied(shape(), dtype());
  if (bytes() > 0) std::memcpy(copied.mutable_raw(), raw(), bytes());
  return copied;
}

void Tensor::refuse_dtype(DType dtype) const {
  throw Error("tensor", to_string(*this) + " was read as " + std::string(name_of(dtype)));
}

void Tensor::refuse_host_access() const {
  throw Error("tensor", to_string(*this) + " is not in host memory; copy it with copy_to_host()");
}

void Tensor::refuse_no_tensor() {
  throw Error("tensor", "a handle without a tensor has no shape and no elements");
}

std::string to_string(const Tensor& tensor) {
  if (!tensor) return "no tensor";
  return std::string(name_of(tensor.dtype())) + to_string(tensor.shape()) + " on " + to_string(tensor.device());
}

void copy(Stream& stream, const Tensor& from, const Tensor& to) {
  if (from.dtype() != to.dtype() || from.elements() != to.elements())
    throw Error("tensor", to_string(from) + " cannot be copied to " + to_string(to));
  for (const auto* side : {&from, &to}) {
    if (!side->host_accessible() && side->device().type != stream.device().type)
      throw Error("tensor", to_string(*side) + " cannot be copied on a stream of " + to_string(stream.device()));
  }
  if (from.bytes() > 0) stream.copy(to.address(), from.address(), from.bytes());
}

void copy_and_wait(const Tensor& from, const Tensor& to) {
  const auto source = from.host_accessible() || from.device() == to.device() ? from : from.copy_to_host();
  const auto device = to.host_accessible() ? source.device() : to.device();
  const auto stream = backend_of(device).make_stream(device);
  copy(*stream, source, to);
  stream->record().wait();
}

}  // namespace troupe
