#include "troupe/ops/cuda/kernels/gather_rows.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// A stored number as float32, scaled and shifted.
struct Scaled {
  float scale, shift;
  template <class T>
  __device__ float operator()(T x) const {
    return static_cast<float>(x) * scale + shift;
  }
};

// Row i of the batch is the row of the data at index i of the second input.
template <class From, class To, class Convert>
std::unique_ptr<Kernel> load_rows_kernel(const OpCall& call, Convert convert) {
  const auto& data = call.inputs[0].shape;
  const GatherRows<From, To, Convert> gather(data[0], data.row_elements(), call.inputs[1].shape.elements(), convert);
  return cuda_kernel(call,
                     [gather](const Launch& where, Inputs in, Outputs out) { gather(where, in[0], in[1], out[0]); });
}

}  // namespace

std::unique_ptr<Kernel> make_load_rows(const OpCall& call) {
  const auto& data = call.inputs[0];
  if (call.attributes.has("scale")) {
    const Scaled scaled{static_cast<float>(call.attributes.number("scale")),
                        static_cast<float>(call.attributes.number("shift"))};
    return data.dtype == DType::uint8 ? load_rows_kernel<std::uint8_t, float>(call, scaled)
                                      : load_rows_kernel<float, float>(call, scaled);
  }
  switch (size_of(data.dtype)) {
    case 8:
      return load_rows_kernel<std::uint64_t, std::uint64_t>(call, Unchanged());
    case 4:
      return load_rows_kernel<std::uint32_t, std::uint32_t>(call, Unchanged());
    case 2:
      return load_rows_kernel<std::uint16_t, std::uint16_t>(call, Unchanged());
    default:
      return load_rows_kernel<std::uint8_t, std::uint8_t>(call, Unchanged());
  }
}

}  // namespace troupe::cuda
