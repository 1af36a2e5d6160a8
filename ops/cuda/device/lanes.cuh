#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/cuda/device/elements.cuh"

namespace troupe::cuda {

/// kCount neighboring elements that one thread reads or writes at once.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Lanes {
  T elements[kCount];

  /// Returns element k as a number for arithmetic: a 16-bit float as a float, any other number unchanged.
  __device__ auto at(int k) const { return load(elements, k); }
  template <class Number>
  __device__ void set(int k, Number number) {
    store(elements, k, number);
  }
};

/// The number of elements in the widest memory access, 16 bytes.
template <class T>
inline constexpr int kWidestLanes = static_cast<int>(16 / sizeof(T));

template <class T, int kCount>
__host__ __device__ const Lanes<T, kCount>* lanes_of(const T* elements) {
  return reinterpret_cast<const Lanes<T, kCount>*>(elements);
}
template <class T, int kCount>
__host__ __device__ Lanes<T, kCount>* lanes_of(T* elements) {
  return reinterpret_cast<Lanes<T, kCount>*>(elements);
}

/// Whether the address of an array is aligned so that kCount elements can be read at once. The address of a view may
/// not be, because a view of a tensor may begin at any element.
template <int kCount, class T>
bool begins_with_lanes(const T* elements) {
  return reinterpret_cast<std::uintptr_t>(elements) % alignof(Lanes<T, kCount>) == 0;
}

}  // namespace troupe::cuda
