#pragma once

#include <cstdint>

namespace troupe::cpu {

/// 16 floats, which the compiler holds in one register of 512 bits or in several narrower ones. Operations work on the
/// elements alone, so their bits do not depend on the width. Functions take such vectors by reference: how they are
/// passed by value depends on the processor.
typedef float Vector16 __attribute__((vector_size(64)));
/// The same at any address of floats.
typedef float UnalignedVector16 __attribute__((vector_size(64), aligned(4), may_alias));

[[gnu::always_inline]] inline UnalignedVector16& vector_at(float* x) {
  return *reinterpret_cast<UnalignedVector16*>(x);
}
[[gnu::always_inline]] inline const UnalignedVector16& vector_at(const float* x) {
  return *reinterpret_cast<const UnalignedVector16*>(x);
}

[[gnu::always_inline]] inline void load(const float* from, Vector16& numbers) {
  numbers = vector_at(from);
}

}  // namespace troupe::cpu
