#include "troupe/transport/device/buffers.hpp"

#include <algorithm>

#include "troupe/ops/core/only_handle.hpp"

namespace troupe::device {

Buffer::~Buffer() {
  last_use_.notify([memory = memory_] {});
}

std::shared_ptr<Buffer> Buffers::take(std::size_t bytes) {
  const auto fits = [&](const auto& buffer) {
    return is_only_handle(buffer) && buffer->bytes() >= bytes && buffer->bytes() <= 2 * bytes && buffer->is_free();
  };
  const auto free_buffer = std::ranges::find_if(all_, fits);
  if (free_buffer != all_.end()) return *free_buffer;
  constexpr std::size_t kLeast = 64;
  const Shape shape{static_cast<std::int64_t>(std::max(bytes, kLeast))};
  return all_.emplace_back(std::make_shared<Buffer>(is_pinned_ ? Tensor::pinned(shape, DType::uint8, device_)
                                                               : Tensor(shape, DType::uint8, device_)));
}

}  // namespace troupe::device
