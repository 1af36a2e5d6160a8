#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace emulated_cuda {

template <typename Key>
inline constexpr bool kFloatKey =
    std::is_floating_point_v<Key> || std::is_same_v<Key, __half> || std::is_same_v<Key, __nv_bfloat16>;

/// An unsigned integer that orders like the key, with only the bits from begin to end, as a radix sort sees them. Both
/// zeros of floats are equal.
template <typename Key>
std::uint64_t radix_of(Key key, int begin_bit, int end_bit) {
  constexpr int kBits = sizeof(Key) * 8;
  constexpr std::uint64_t kSign = std::uint64_t{1} << (kBits - 1);
  constexpr std::uint64_t kAll = kSign | (kSign - 1);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &key, sizeof key);
  if constexpr (kFloatKey<Key>) {
    if (bits == kSign) bits = 0;
    bits = bits & kSign ? ~bits & kAll : bits | kSign;
  } else if constexpr (std::is_signed_v<Key>) {
    bits ^= kSign;
  }
  const int width = end_bit - begin_bit;
  bits >>= begin_bit;
  return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

/// The arrays of a sort of keys that each have a value.
template <typename Key, typename Value>
struct SortArrays {
  const Key* keys_in;
  Key* keys_out;
  const Value* values_in;
  Value* values_out;
};

/// The direction of a sort, and the bits of the keys that it compares.
struct SortRule {
  bool descending;
  int begin_bit;
  int end_bit;
};

/// Sorts the items from begin to end, stably.
template <typename Key, typename Value>
void stable_sort(const SortArrays<Key, Value>& arrays, std::size_t begin, std::size_t end, SortRule rule) {
  std::vector<std::uint64_t> radix(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    radix[i - begin] = radix_of(arrays.keys_in[i], rule.begin_bit, rule.end_bit);
  }
  std::vector<std::size_t> order(end - begin);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rule.descending ? radix[b] < radix[a] : radix[a] < radix[b];
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    arrays.keys_out[begin + i] = arrays.keys_in[begin + order[i]];
    arrays.values_out[begin + i] = arrays.values_in[begin + order[i]];
  }
}

}  // namespace emulated_cuda
