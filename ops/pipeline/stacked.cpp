#include <cmath>
#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/half.hpp"
#include "troupe/ops/pipeline/batched_rows.hpp"

namespace troupe {

namespace {

template <class T>
std::vector<std::byte> bytes_of(T element) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &element, sizeof(T));
  return bytes;
}

/// The bytes of a number in a dtype.
std::vector<std::byte> element_of(DType dtype, double number) {
  switch (dtype) {
    case DType::float32:
      return bytes_of(static_cast<float>(number));
    case DType::int32:
      return bytes_of(static_cast<std::int32_t>(number));
    case DType::int64:
      return bytes_of(static_cast<std::int64_t>(number));
    case DType::uint8:
      return bytes_of(static_cast<std::uint8_t>(number));
    case DType::float16:
      return bytes_of(Float16(static_cast<float>(number)));
    case DType::bfloat16:
      return bytes_of(BFloat16(static_cast<float>(number)));
  }
  throw Error("padded_batch", std::string(name_of(dtype)) + " cannot be padded");
}

void pad(std::byte* to, std::size_t bytes, DType dtype, double padding) {
  if (padding == 0.0) return;  // a new tensor is zeroed
  const auto element = element_of(dtype, padding);
  for (std::size_t at = 0; at < bytes; at += element.size()) std::memcpy(to + at, element.data(), element.size());
}

}  // namespace

void check_padding(DType dtype, double padding) {
  const auto expect = [&](double least, double end) {
    if (!(padding >= least && padding < end && padding == std::trunc(padding)))
      throw Error("padded_batch", std::to_string(padding) + " is no " + std::string(name_of(dtype)));
  };
  if (dtype == DType::uint8) expect(0.0, 0x1p8);
  if (dtype == DType::int32) expect(-0x1p31, 0x1p31);
  if (dtype == DType::int64) expect(-0x1p63, 0x1p63);
}

Tensor stacked(std::span<const Tensor> rows, const Shape& shape, DType dtype, double padding) {
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(rows.size())};
  sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
  Tensor batch(Shape(sizes), dtype);
  const auto row_bytes = static_cast<std::size_t>(shape.elements()) * size_of(dtype);
  auto* to = batch.mutable_raw();
  for (const auto& row : rows) {
    if (row.bytes() > 0) std::memcpy(to, row.raw(), row.bytes());
    pad(to + row.bytes(), row_bytes - row.bytes(), dtype, padding);
    to += row_bytes;
  }
  return batch;
}

}  // namespace troupe
