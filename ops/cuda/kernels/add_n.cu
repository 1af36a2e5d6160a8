#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// The largest number of inputs of one launch.
constexpr std::size_t kInputsOfLaunch = 64;

/// Adds up element i of `count` inputs, in order; a 16-bit sum is rounded after every addition. The output may share
/// memory with an input, because the thread that writes an element is the one that reads it.
template <class T>
struct AddInputs {
  const T* x[kInputsOfLaunch];
  int count;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    T sum = x[0][i];
    for (int input = 1; input < count; ++input) store(&sum, 0, load(&sum, 0) + load(x[input], i));
    y[i] = sum;
  }
};

/// Makes a kernel that adds up all inputs. If there are more than kInputsOfLaunch inputs, the kernel makes several
/// launches, between which scratch memory holds the sum, because the output may share memory with an input that a later
/// launch reads.
template <class T>
std::unique_ptr<Kernel> sum_kernel(const OpCall& call) {
  const bool continued = call.inputs.size() > kInputsOfLaunch;
  const auto bytes = continued ? static_cast<std::size_t>(call.outputs[0].shape.elements()) * sizeof(T) : 0;
  return cuda_kernel(
      call,
      [](const Launch& where, Inputs in, Outputs out) {
        AddInputs<T> sum{};
        for (std::size_t next = 0; next < in.size();) {
          sum.count = 0;
          if (next > 0) sum.x[sum.count++] = reinterpret_cast<const T*>(where.scratch);
          while (next < in.size() && sum.count < static_cast<int>(kInputsOfLaunch))
            sum.x[sum.count++] = data_of<T>(in[next++]);
          sum.y = next < in.size() ? reinterpret_cast<T*>(where.scratch) : mutable_data_of<T>(out[0]);
          for_each(where, out[0].elements(), sum);
        }
      },
      bytes);
}

}  // namespace

std::unique_ptr<Kernel> make_add_n(const OpCall& call) {
  return with_type<std::int32_t, std::int64_t, HalfBits, BFloatBits, float>(
      call.inputs[0].dtype, [&](auto element) { return sum_kernel<decltype(element)>(call); });
}

}  // namespace troupe::cuda
