#include "troupe/ops/core/tensor_info.hpp"

namespace troupe {

std::string to_string(const TensorInfo& info) {
  return std::string(name_of(info.dtype)) + to_string(info.shape);
}

std::vector<std::int64_t> pack_offsets(std::span<const TensorInfo> infos) {
  constexpr std::int64_t kPackAlignment = 16;
  std::vector<std::int64_t> offsets{0};
  for (const auto& info : infos) {
    const auto padded = (info.shape.elements() + kPackAlignment - 1) / kPackAlignment * kPackAlignment;
    offsets.push_back(offsets.back() + padded);
  }
  return offsets;
}

}  // namespace troupe
