#pragma once

#include <concepts>
#include <type_traits>

namespace emulated_cuda {

template <typename T>
concept Counted = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;

template <typename T>
concept Compared = Counted<T> || std::same_as<T, long long>;

/// Replaces *address by update(*address) atomically. Returns the old value.
template <typename T, typename Update>
T fetch_and(T* address, Update update) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T desired = update(old);
    if (__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return old;
  }
}

}  // namespace emulated_cuda

inline float atomicAdd(float* address, float value) {
  return emulated_cuda::fetch_and(address, [=](float old) { return old + value; });
}
inline double atomicAdd(double* address, double value) {
  return emulated_cuda::fetch_and(address, [=](double old) { return old + value; });
}

template <emulated_cuda::Counted T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
}
inline int atomicSub(int* address, int value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_ACQ_REL);
}
inline unsigned atomicSub(unsigned* address, unsigned value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_ACQ_REL);
}

template <emulated_cuda::Compared T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return emulated_cuda::fetch_and(address, [=](T old) { return old < value ? value : old; });
}
template <emulated_cuda::Compared T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return emulated_cuda::fetch_and(address, [=](T old) { return value < old ? value : old; });
}
template <emulated_cuda::Counted T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_or(address, value, __ATOMIC_ACQ_REL);
}
template <emulated_cuda::Counted T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_and(address, value, __ATOMIC_ACQ_REL);
}
template <typename T>
requires emulated_cuda::Counted<T> || std::same_as<T, float> T atomicExch(T* address, std::type_identity_t<T> value) {
  T old;
  __atomic_exchange(address, &value, &old, __ATOMIC_ACQ_REL);
  return old;
}
template <typename T>
requires emulated_cuda::Counted<T> || std::same_as<T, unsigned short> T atomicCAS(T* address,
                                                                                  std::type_identity_t<T> expected,
                                                                                  std::type_identity_t<T> value) {
  __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return expected;
}
