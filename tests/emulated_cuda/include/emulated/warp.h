#pragma once

#include <concepts>
#include <cstring>
#include <type_traits>

namespace emulated_cuda {

enum class ShuffleKind { kIndex, kUp, kDown, kXor };
enum class VoteKind { kBallot, kAny, kAll };

/// The value of another lane, as bits. Lanes whose values differ in size do not meet.
unsigned long long shuffle(ShuffleKind kind, unsigned mask, unsigned long long bits, int operand, int width,
                           int value_bytes);
unsigned vote(VoteKind kind, unsigned mask, bool predicate);

template <typename T>
concept Shuffled = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <Shuffled T>
T shuffle_value(ShuffleKind kind, unsigned mask, T value, int operand, int width) {
  unsigned long long bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = shuffle(kind, mask, bits, operand, width, sizeof value);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace emulated_cuda

void __syncwarp(unsigned mask = 0xffffffffu);

template <emulated_cuda::Shuffled T>
T __shfl_sync(unsigned mask, T value, int source_lane, int width = 32) {
  return emulated_cuda::shuffle_value(emulated_cuda::ShuffleKind::kIndex, mask, value, source_lane, width);
}

template <emulated_cuda::Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return emulated_cuda::shuffle_value(emulated_cuda::ShuffleKind::kUp, mask, value, static_cast<int>(delta), width);
}

template <emulated_cuda::Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return emulated_cuda::shuffle_value(emulated_cuda::ShuffleKind::kDown, mask, value, static_cast<int>(delta), width);
}

template <emulated_cuda::Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return emulated_cuda::shuffle_value(emulated_cuda::ShuffleKind::kXor, mask, value, lane_mask, width);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return emulated_cuda::vote(emulated_cuda::VoteKind::kBallot, mask, predicate != 0);
}

inline int __any_sync(unsigned mask, int predicate) {
  return emulated_cuda::vote(emulated_cuda::VoteKind::kAny, mask, predicate != 0) != 0;
}

inline int __all_sync(unsigned mask, int predicate) {
  return emulated_cuda::vote(emulated_cuda::VoteKind::kAll, mask, predicate != 0) != 0;
}
