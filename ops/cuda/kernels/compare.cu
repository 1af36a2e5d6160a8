#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/map.cuh"

namespace troupe::cuda {

namespace {

struct Equal {
  template <class T>
  __device__ std::uint8_t operator()(T a, T b) const {
    return a == b ? 1 : 0;
  }
};
struct NotEqual {
  template <class T>
  __device__ std::uint8_t operator()(T a, T b) const {
    return a != b ? 1 : 0;
  }
};
struct Less {
  template <class T>
  __device__ std::uint8_t operator()(T a, T b) const {
    return a < b ? 1 : 0;
  }
};
struct LessEqual {
  template <class T>
  __device__ std::uint8_t operator()(T a, T b) const {
    return a <= b ? 1 : 0;
  }
};

template <class Compare>
std::unique_ptr<Kernel> make_comparison(const OpCall& call) {
  return with_type<std::int32_t, std::int64_t, std::uint8_t, float>(call.inputs[0].dtype, [&](auto element) {
    return broadcast_two<decltype(element), std::uint8_t>(call, Compare{});
  });
}

struct Choose {
  Walk<3> walk;
  const std::uint8_t* condition;
  const float* a;
  const float* b;
  float* y;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t at[3];
    walk.find(i, at);
    y[i] = condition[at[0]] != 0 ? a[at[1]] : b[at[2]];
  }
};

}  // namespace

std::unique_ptr<Kernel> make_equal(const OpCall& call) {
  return make_comparison<Equal>(call);
}
std::unique_ptr<Kernel> make_not_equal(const OpCall& call) {
  return make_comparison<NotEqual>(call);
}
std::unique_ptr<Kernel> make_less(const OpCall& call) {
  return make_comparison<Less>(call);
}
std::unique_ptr<Kernel> make_less_equal(const OpCall& call) {
  return make_comparison<LessEqual>(call);
}

std::unique_ptr<Kernel> make_where(const OpCall& call) {
  return cuda_kernel(call, [walk = broadcast_walk<3>(call)](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(),
             Choose{walk, data_of<std::uint8_t>(in[0]), floats(in[1]), floats(in[2]), mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
