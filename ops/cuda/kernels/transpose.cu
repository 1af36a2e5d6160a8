#include <algorithm>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/device/walk.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

constexpr int kTile = 32;

/// Returns the axes of the result, outermost first, with their strides in the input and in the result. Neighboring axes
/// of the result that are neighbors in the input, too, are merged; axes of one element are left out.
std::vector<WalkAxis<2>> axes_of(const OpCall& call) {
  const auto& from = call.inputs[0].shape;
  const auto& order = call.attributes.list("order");
  std::vector<std::int64_t> strides(from.rank(), 1);
  for (std::size_t axis = from.rank(); axis-- > 1;) strides[axis - 1] = strides[axis] * from[axis];
  std::vector<WalkAxis<2>> axes;
  for (const auto axis : order) {
    const auto size = from[static_cast<std::size_t>(axis)], stride = strides[static_cast<std::size_t>(axis)];
    if (size == 1) continue;
    if (!axes.empty() && axes.back().strides[0] == stride * size)
      axes.back() = {axes.back().size * size, {stride, 0}};
    else
      axes.push_back({size, {stride, 0}});
  }
  std::int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); stride *= axis->size, ++axis) axis->strides[1] = stride;
  return axes;
}

/// Matrices x [rows, columns] of the input, which become matrices y [columns, rows] of the result. `x_stride` and
/// `y_stride` are the distances between the rows of a matrix x and of a matrix y. `row_tiles` is the number of tiles of
/// kTile rows in a matrix x. `others` walks the axes other than the two of a matrix. It gives the first elements of
/// matrix i in the input and in the result.
struct Matrices {
  std::int64_t rows, columns, x_stride, y_stride, row_tiles;
  Walk<2> others;
};

/// Transposes tile number blockIdx.x of every matrix whose number is blockIdx.y plus a multiple of gridDim.y. A tile
/// has kTile rows and columns. In shared memory its rows are padded to avoid bank conflicts.
template <class T>
__global__ void __launch_bounds__(kBlock) transpose_kernel(Matrices m, const T* x, T* y) {
  __shared__ T tile[kTile][kTile + 1];
  const int across = static_cast<int>(threadIdx.x) % kTile, down = static_cast<int>(threadIdx.x) / kTile;
  const auto column_tile = blockIdx.x / m.row_tiles;
  const auto row = (blockIdx.x - column_tile * m.row_tiles) * kTile, column = column_tile * kTile;
  for (std::int64_t matrix = blockIdx.y; matrix < m.others.elements(); matrix += gridDim.y) {
    std::int64_t at[2];
    m.others.find(matrix, at);
    for (int i = down; i < kTile; i += kBlock / kTile)
      if (row + i < m.rows && column + across < m.columns)
        tile[i][across] = x[at[0] + (row + i) * m.x_stride + column + across];
    __syncthreads();
    for (int i = down; i < kTile; i += kBlock / kTile)
      if (column + i < m.columns && row + across < m.rows)
        y[at[1] + (column + i) * m.y_stride + row + across] = tile[across][i];
    __syncthreads();
  }
}

template <class T>
std::unique_ptr<Kernel> make_tiled(const OpCall& call, std::vector<WalkAxis<2>> axes) {
  const auto inner = std::find_if(axes.begin(), axes.end(), [](const auto& axis) { return axis.strides[0] == 1; });
  const auto columns = *inner, rows = axes.back();
  axes.pop_back();
  axes.erase(inner);
  const Matrices matrices{rows.size,    columns.size, rows.strides[0], columns.strides[1], divided_up(rows.size, kTile),
                          Walk<2>(axes)};
  constexpr std::int64_t kMaxGrid = 65535;
  const dim3 grid(static_cast<unsigned>(matrices.row_tiles * divided_up(columns.size, kTile)),
                  static_cast<unsigned>(std::min(matrices.others.elements(), kMaxGrid)));
  return cuda_kernel(call, [matrices, grid](const Launch& where, Inputs in, Outputs out) {
    launch(where, grid, kBlock, transpose_kernel<T>, matrices, data_of<T>(in[0]), mutable_data_of<T>(out[0]));
  });
}

}  // namespace

std::unique_ptr<Kernel> make_transpose(const OpCall& call) {
  const auto axes = axes_of(call);
  const bool keeps_runs = axes.empty() || axes.back().strides[0] == 1;
  return with_bits_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    if (!keeps_runs) return make_tiled<T>(call, axes);
    return cuda_kernel(call, [walk = Walk<2>(axes)](const Launch& where, Inputs in, Outputs out) {
      for_each(where, walk.elements(), CopyWalk<T>{walk, data_of<T>(in[0]), mutable_data_of<T>(out[0])});
    });
  });
}

}  // namespace troupe::cuda
