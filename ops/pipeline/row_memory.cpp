#include "troupe/ops/pipeline/row_memory.hpp"

#include <memory>

#include "troupe/ops/core/allocator.hpp"

namespace troupe {

namespace {

constexpr std::size_t kBytesOfBlock = std::size_t{64} << 10;
constexpr std::size_t kMostBytesOfSmall = kBytesOfBlock / 16;

/// The block of which a thread takes memory for small tensors.
struct RowBlock {
  std::shared_ptr<std::byte> memory;
  std::size_t used = kBytesOfBlock;
};

}  // namespace

Tensor row_tensor(const Shape& shape, DType dtype) {
  const auto bytes = static_cast<std::size_t>(shape.elements()) * size_of(dtype);
  if (bytes == 0 || bytes > kMostBytesOfSmall) return {shape, dtype};
  thread_local RowBlock block;
  if (bytes > kBytesOfBlock - block.used) block = {cpu_memory(kBytesOfBlock), 0};
  auto* const place = block.memory.get() + block.used;
  block.used += Allocator::rounded(bytes);
  return {std::shared_ptr<std::byte>(block.memory, place), shape, dtype};
}

}  // namespace troupe
