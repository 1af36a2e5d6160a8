#pragma once

struct uint3 {
  unsigned int x, y, z;
};

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x_size = 1, unsigned int y_size = 1, unsigned int z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

#define EMULATED_CUDA_VECTORS(T, name, align2, align4)   \
  struct alignas(align2) name##2 {                       \
    T x, y;                                              \
  };                                                     \
  struct alignas(align4) name##4 {                       \
    T x, y, z, w;                                        \
  };                                                     \
  constexpr name##2 make_##name##2(T x, T y) {           \
    return {x, y};                                       \
  }                                                      \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { \
    return {x, y, z, w};                                 \
  }
EMULATED_CUDA_VECTORS(float, float, 8, 16)
EMULATED_CUDA_VECTORS(int, int, 8, 16)
EMULATED_CUDA_VECTORS(unsigned int, uint, 8, 16)
EMULATED_CUDA_VECTORS(double, double, 16, 16)
EMULATED_CUDA_VECTORS(long long, longlong, 16, 16)
EMULATED_CUDA_VECTORS(unsigned short, ushort, 4, 8)
EMULATED_CUDA_VECTORS(unsigned char, uchar, 2, 4)
#undef EMULATED_CUDA_VECTORS

struct float3 {
  float x, y, z;
};
struct int3 {
  int x, y, z;
};

constexpr float3 make_float3(float x, float y, float z) {
  return {x, y, z};
}
constexpr int3 make_int3(int x, int y, int z) {
  return {x, y, z};
}
constexpr uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) {
  return {x, y, z};
}
