#include "troupe/transport/device/buffers.hpp"

#include <algorithm>

#include "troupe/ops/core/only_handle.hpp"

namespace troupe::device {

Buffer::~Buffer() {
  last_use_.notify([memory = memory_] {});
}

Buffers Buffers::on_device(Device device) {
  return Buffers([device](const Shape& shape) { return Tensor(shape, DType::uint8, device); });
}

Buffers Buffers::on_host(Device device) {
  return Buffers([device](const Shape& shape) { return Tensor::pinned(shape, DType::uint8, device); });
}

std::shared_ptr<Buffer> Buffers::take(std::size_t bytes) {
  const auto fits = [&](const auto& buffer) {
    return is_only_handle(buffer) && buffer->bytes() >= bytes && buffer->bytes() <= 2 * bytes && buffer->is_free();
  };
  const auto found = std::ranges::find_if(all_, fits);
  if (found != all_.end()) return *found;
  constexpr std::size_t kLeast = 64;
  return all_.emplace_back(std::make_shared<Buffer>(make_(Shape{static_cast<std::int64_t>(std::max(bytes, kLeast))})));
}

}  // namespace troupe::device
