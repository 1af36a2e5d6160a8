#include "troupe/ops/pipeline/row_memory.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/pipeline/row.hpp"

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

Row packed(Row row) {
  for (auto& value : row.values) {
    if (value.bytes() == 0 || value.bytes() > kMostBytesOfSmall) continue;
    auto copy = row_tensor(value.shape(), value.dtype());
    std::memcpy(copy.mutable_raw(), value.raw(), value.bytes());
    value = std::move(copy);
  }
  return row;
}

}  // namespace troupe
