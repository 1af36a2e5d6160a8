#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// The part of the batch that this replica computes, as its batch info states, and the number of rows of a tensor that
/// has a row for each row of the part.
struct Part {
  InvalidReport invalid;
  const BatchInfo* info;
  std::int64_t rows;

  /// Whether the batch info has the same number of rows as the tensor, and no negative first row. If not, the first
  /// thread of the launch reports the part as invalid.
  __device__ bool is_valid() const {
    if (info->rows == rows && info->first_row >= 0) return true;
    if (first_element() == 0) invalid(InvalidValue::Kind::rows, info->first_row, info->rows, rows);
    return false;
  }
};

/// Sets row r of y to row r + distance of x, or to 0 if x has no such row or the part is not valid. The distance is
/// `begin` minus the first row of the part; with `reverse` it is the negative of that.
struct ShiftRows {
  Part part;
  Divisor width;
  std::int64_t begin;
  bool reverse;
  std::int64_t rows_of_x;
  const float* x;
  float* y;
  __device__ void operator()(std::int64_t i) const {
    const auto distance = reverse ? part.info->first_row - begin : begin - part.info->first_row;
    const auto row = width.quotient(i) + distance;
    const bool inside = part.is_valid() && row >= 0 && row < rows_of_x;
    y[i] = inside ? x[i + distance * width.divisor()] : 0.0F;
  }
};

/// Copies from x the rows that have the positions of the part's rows in the whole batch; x has no batch axis. A part
/// that is not valid or reaches beyond x is reported and gives zeros.
struct RowsOfPart {
  Part part;
  std::int64_t width, rows_of_x;
  const float* x;
  float* y;
  __device__ void operator()(std::int64_t i) const {
    const auto first = part.info->first_row;
    bool valid = part.is_valid();
    if (valid && first > rows_of_x - part.rows) {
      if (first_element() == 0) part.invalid(InvalidValue::Kind::batch_rows, first, part.rows, rows_of_x);
      valid = false;
    }
    y[i] = valid ? x[first * width + i] : 0.0F;
  }
};

/// Makes the kernel of slice_rows, or, with `reverse`, of its gradient. slice_rows computes a slice of the whole batch,
/// of which it copies the rows that are in this replica's part x; all others are zeros. Its gradient computes the
/// gradient of the part from the gradient x of the slice.
std::unique_ptr<Kernel> make_shift(const OpCall& call, bool reverse) {
  const auto begin = call.attributes.integer("begin");
  const auto& shape = call.outputs[0].shape;
  const Divisor width(shape.row_elements(), shape.elements());
  return cuda_kernel(call, [=](const Launch& where, Inputs in, Outputs out) {
    const Part part{where.invalid, batch_info_of(in[1]), (reverse ? out[0] : in[0]).shape()[0]};
    for_each(where, out[0].elements(),
             ShiftRows{part, width, begin, reverse, in[0].shape()[0], floats(in[0]), mutable_floats(out[0])});
  });
}

}  // namespace

std::unique_ptr<Kernel> make_slice_rows(const OpCall& call) {
  return make_shift(call, false);
}
std::unique_ptr<Kernel> make_slice_rows_grad(const OpCall& call) {
  return make_shift(call, true);
}

std::unique_ptr<Kernel> make_rows_of_part(const OpCall& call) {
  return cuda_kernel(call, [width = call.outputs[0].shape.row_elements()](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(),
             RowsOfPart{{where.invalid, batch_info_of(in[2]), out[0].shape()[0]},
                        width,
                        in[0].shape()[0],
                        floats(in[0]),
                        mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
