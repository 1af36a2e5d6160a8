#include "troupe/transport/device/buffers.hpp"

#include <algorithm>

#include "troupe/ops/core/only_handle.hpp"

namespace troupe::device {

Buffer::~Buffer() {
  last_use_.notify([memory = memory_] {});
}

std::shared_ptr<Buffer> Buffers::take(std::size_t bytes) {
  // A request below the smallest buffer takes a buffer of that size, which a later small request finds again.
  constexpr std::size_t kLeast = 64;
  bytes = std::max(bytes, kLeast);
  const auto fits = [&](const auto& buffer) {
    return is_only_handle(buffer) && buffer->bytes() >= bytes && buffer->bytes() <= 2 * bytes && buffer->is_free();
  };
  const auto free_buffer = std::ranges::find_if(all_, fits);
  if (free_buffer != all_.end()) return *free_buffer;
  const Shape shape{static_cast<std::int64_t>(bytes)};
  return all_.emplace_back(std::make_shared<Buffer>(is_pinned_ ? Tensor::pinned(shape, DType::uint8, device_)
                                                               : Tensor(shape, DType::uint8, device_)));
}

}  // namespace troupe::device
