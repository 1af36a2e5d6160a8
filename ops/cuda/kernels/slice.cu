#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/box_copy.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

using List = std::vector<std::int64_t>;

template <class T>
struct Fill {
  T value;
  T* to;
  __device__ void operator()(std::int64_t i) const { to[i] = value; }
};

template <class T>
void fill_as(const Launch& where, const Tensor& tensor, double value) {
  for_each(where, tensor.elements(), Fill<T>{static_cast<T>(value), mutable_data_of<T>(tensor)});
}

void fill(const Launch& where, const Tensor& tensor, double value) {
  switch (tensor.dtype()) {
    case DType::float32:
      return fill_as<float>(where, tensor, value);
    case DType::int32:
      return fill_as<std::int32_t>(where, tensor, value);
    case DType::int64:
      return fill_as<std::int64_t>(where, tensor, value);
    case DType::uint8:
      return fill_as<std::uint8_t>(where, tensor, value);
    default:
      throw Error("pad", "cannot fill " + to_string(tensor));
  }
}

}  // namespace

std::unique_ptr<Kernel> make_slice(const OpCall& call) {
  const auto& sizes = call.outputs[0].shape;
  const BoxCopy copy({call.inputs[0].shape, call.attributes.list("begin")}, {sizes, List(sizes.rank(), 0)}, sizes,
                     size_of(call.outputs[0].dtype));
  return cuda_kernel(
      call, [copy](const Launch& where, Inputs in, Outputs out) { copy(where, in[0].address(), out[0].address()); });
}

std::unique_ptr<Kernel> make_pad(const OpCall& call) {
  const auto& sizes = call.inputs[0].shape;
  const BoxCopy copy({sizes, List(sizes.rank(), 0)}, {call.outputs[0].shape, call.attributes.list("before")}, sizes,
                     size_of(call.outputs[0].dtype));
  return cuda_kernel(call,
                     [copy, value = call.attributes.number("value")](const Launch& where, Inputs in, Outputs out) {
                       fill(where, out[0], value);
                       copy(where, in[0].address(), out[0].address());
                     });
}

std::unique_ptr<Kernel> make_concat(const OpCall& call) {
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  std::vector<BoxCopy> copies;
  List begin(call.outputs[0].shape.rank(), 0);
  for (const auto& input : call.inputs) {
    copies.emplace_back(BoxCopy::Corner{input.shape, List(begin.size(), 0)},
                        BoxCopy::Corner{call.outputs[0].shape, begin}, input.shape, size_of(input.dtype));
    begin[axis] += input.shape[axis];
  }
  return cuda_kernel(call, [copies](const Launch& where, Inputs in, Outputs out) {
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i](where, in[i].address(), out[0].address());
  });
}

}  // namespace troupe::cuda
