#include <bit>

#include "troupe/ops/cuda/kernels/gather_rows.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/rows.cuh"
#include "troupe/ops/cuda/kernels/sort.hpp"

namespace troupe::cuda {

namespace {

/// Writes a row of zeros with 1 at its index.
struct OneHotRow {
  Indices indices;
  float* y;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto index = indices.at(i, threads.lane() == 0);
    for (std::int64_t j = threads.lane(); j < indices.bound; j += Threads::kCount)
      y[i * indices.bound + j] = j == index ? 1.0F : 0.0F;
  }
};

/// Makes the pairs of index and position to be sorted. An index out of range becomes the bound, which sorts after all
/// others.
struct MakeIndexPair {
  Indices indices;
  std::uint32_t* keys;
  std::int32_t* places;
  __device__ void operator()(std::int64_t i) const {
    const auto index = indices.at(i, true);
    keys[i] = static_cast<std::uint32_t>(index >= 0 ? index : indices.bound);
    places[i] = static_cast<std::int32_t>(i);
  }
};

/// Sums the values whose index is a row of the result, in their order.
struct ScatterRow {
  std::int64_t count, width;
  const std::uint32_t* keys;
  const std::int32_t* places;
  const float* x;
  float* y;

  /// The first pair whose key is at least `key`.
  __device__ std::int64_t first_of(std::int64_t key) const {
    std::int64_t begin = 0, end = count;
    while (begin < end) {
      const auto middle = (begin + end) / 2;
      if (keys[middle] < key)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto begin = first_of(row);
    auto end = begin;
    while (end < count && keys[end] == row && end < begin + 4) ++end;
    if (end == begin + 4) end = first_of(row + 1);
    for (std::int64_t j = threads.lane(); j < width; j += Threads::kCount) {
      float sum = 0.0F;
      for (auto i = begin; i < end; ++i) sum += x[places[i] * width + j];
      y[row * width + j] = sum;
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_gather(const OpCall& call) {
  const auto& table = call.inputs[0].shape;
  const GatherRows<float, float, Unchanged> gather(table[0], table.row_elements(), call.inputs[1].shape.elements(), {});
  return cuda_kernel(call,
                     [gather](const Launch& where, Inputs in, Outputs out) { gather(where, in[0], in[1], out[0]); });
}

std::unique_ptr<Kernel> make_one_hot(const OpCall& call) {
  return cuda_kernel(call, [classes = call.attributes.integer("classes")](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[0].elements(), classes, OneHotRow{{where, in[0], classes}, mutable_floats(out[0])});
  });
}

std::unique_ptr<Kernel> make_scatter_add(const OpCall& call) {
  const auto rows = call.outputs[0].shape[0], width = call.outputs[0].shape.row_elements();
  const auto count = call.inputs[1].shape.elements();
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (rows >= kLimit || count >= kLimit) throw Error("scatter_add", "there are 2^31 rows or indices, or more");
  const PairSort sort(count, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))));
  return cuda_kernel(
      call,
      [=](const Launch& where, Inputs in, Outputs out) {
        for_each(where, count,
                 MakeIndexPair{{where, in[1], rows}, sort.keys(where.scratch), sort.places(where.scratch)});
        sort.run(where, where.scratch);
        for_each_row(where, rows, width,
                     ScatterRow{count, width, sort.sorted_keys(where.scratch), sort.sorted_places(where.scratch),
                                floats(in[0]), mutable_floats(out[0])});
      },
      sort.scratch_bytes());
}

}  // namespace troupe::cuda
