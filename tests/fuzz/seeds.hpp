#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe::fuzz {

using Bytes = std::vector<std::byte>;
/// Inputs of one target by their names.
using Seeds = std::map<std::string, Bytes>;

/// Valid messages for each target, from which the fuzzer starts.
std::map<std::string, Seeds> all_seeds();
Seeds packet_seeds();
Seeds assembly_seeds();

inline Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// The byte that stands before what has checksums, or chooses what is done with it.
inline Bytes byte(int value) {
  return {static_cast<std::byte>(value)};
}

/// A payload of bytes.
inline Tensor text(const std::string& text) {
  Tensor payload(Shape{static_cast<std::int64_t>(text.size())}, DType::uint8);
  std::ranges::copy(std::as_bytes(std::span(text)), payload.mutable_raw());
  return payload;
}

}  // namespace troupe::fuzz
