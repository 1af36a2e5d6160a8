#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/axis.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// The lines of x along an axis, and their cumulative sums y. With `from_end` the sums start at the end of each line.
struct Lines {
  AxisLines axis;
  bool from_end;
  const float* x;
  float* y;

  /// The index of element i of a line, counted from the line's end if from_end is true.
  __device__ std::int64_t at(std::int64_t line, std::int64_t i) const {
    return axis.first(line) + (from_end ? axis.size - 1 - i : i) * axis.inner.divisor();
  }
};

/// Computes the cumulative sums of one line by one thread. Neighboring threads access neighboring memory if the
/// elements of neighboring lines are neighbors in memory.
struct SumLine {
  Lines lines;
  __device__ void operator()(std::int64_t line) const {
    // In double precision, since a long sum in float32 stops growing.
    double sum = 0.0;
    for (std::int64_t i = 0; i < lines.axis.size; ++i) {
      const auto at = lines.at(line, i);
      sum += lines.x[at];
      lines.y[at] = static_cast<float>(sum);
    }
  }
};

/// Computes the cumulative sums of each line by one warp, 32 elements at a time.
__global__ void __launch_bounds__(kBlock) sum_lines_kernel(std::int64_t count, Lines lines) {
  constexpr unsigned kAll = 0xffffffffU;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (auto line = first_element() / kWarp; line < count; line += element_stride() / kWarp) {
    double before = 0.0;  // in double precision, since a long sum in float32 stops growing
    for (std::int64_t begin = 0; begin < lines.axis.size; begin += kWarp) {
      const bool inside = begin + lane < lines.axis.size;
      const auto at = inside ? lines.at(line, begin + lane) : 0;
      float sum = inside ? lines.x[at] : 0.0F;
      for (int distance = 1; distance < kWarp; distance *= 2) {
        const float other = __shfl_up_sync(kAll, sum, distance);
        if (lane >= distance) sum += other;
      }
      if (inside) lines.y[at] = static_cast<float>(before + sum);
      before += __shfl_sync(kAll, sum, kWarp - 1);
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> make_cumulative_sum(const OpCall& call) {
  const AxisLines axis(call.inputs[0].shape, call.attributes.integer("axis"));
  return cuda_kernel(call,
                     [axis, from_end = call.attributes.flag("from_end")](const Launch& where, Inputs in, Outputs out) {
                       constexpr std::int64_t kShort = 16;
                       const Lines lines{axis, from_end, floats(in[0]), mutable_floats(out[0])};
                       if (axis.distance >= kWarp || axis.size <= kShort)
                         for_each(where, axis.lines(), SumLine{lines});
                       else
                         launch(where, blocks_for(axis.lines() * kWarp), kBlock, sum_lines_kernel, axis.lines(), lines);
                     });
}

}  // namespace troupe::cuda
