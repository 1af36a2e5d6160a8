#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/rows.cuh"

namespace troupe::cuda {

namespace {

struct Unchanged {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

struct Scaled {
  float scale, shift;
  template <class T>
  __device__ float operator()(T x) const {
    return static_cast<float>(x) * scale + shift;
  }
};

/// A row of the batch is the row of the data whose number it is. One out of range is noted, and loads zeros.
template <class From, class To, class Convert>
struct LoadRow {
  InvalidReport invalid;
  std::int64_t rows, width;
  Convert convert;
  const From* data;
  const std::int32_t* numbers;
  To* batch;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const std::int64_t row = numbers[i];
    const bool there = row >= 0 && row < rows;
    if (!there && threads.lane() == 0) invalid.index(i, row, rows);
    for (std::int64_t j = threads.lane(); j < width; j += Threads::kCount)
      batch[i * width + j] = there ? static_cast<To>(convert(data[row * width + j])) : To(0);
  }
};

template <class From, class To, class Convert>
std::unique_ptr<Kernel> load_rows_kernel(const OpCall& call, std::int64_t width, Convert convert) {
  return cuda_kernel(call, [=, rows = call.inputs[0].shape[0]](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[1].elements(), width,
                 LoadRow<From, To, Convert>{where.invalid, rows, width, convert, data_of<From>(in[0]),
                                            data_of<std::int32_t>(in[1]), mutable_data_of<To>(out[0])});
  });
}

}  // namespace

std::unique_ptr<Kernel> make_load_rows(const OpCall& call) {
  const auto& data = call.inputs[0];
  const auto width = data.shape.row_elements();
  if (call.attributes.has("scale")) {
    const Scaled scaled{static_cast<float>(call.attributes.number("scale")),
                        static_cast<float>(call.attributes.number("shift"))};
    return data.dtype == DType::uint8 ? load_rows_kernel<std::uint8_t, float>(call, width, scaled)
                                      : load_rows_kernel<float, float>(call, width, scaled);
  }
  switch (size_of(data.dtype)) {
    case 8:
      return load_rows_kernel<std::uint64_t, std::uint64_t>(call, width, Unchanged());
    case 4:
      return load_rows_kernel<std::uint32_t, std::uint32_t>(call, width, Unchanged());
    case 2:
      return load_rows_kernel<std::uint16_t, std::uint16_t>(call, width, Unchanged());
    default:
      return load_rows_kernel<std::uint8_t, std::uint8_t>(call, width, Unchanged());
  }
}

}  // namespace troupe::cuda
