#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// The part of the batch that a value of some rows belongs to.
struct Part {
  InvalidReport invalid;
  const BatchInfo* info;
  std::int64_t rows;

  /// Whether the batch info has the same number of rows. The first thread reports if not.
  __device__ bool is_valid() const {
    if (info->rows == rows && info->first_row >= 0) return true;
    if (first_element() == 0) invalid(InvalidValue::Kind::rows, info->first_row, info->rows, rows);
    return false;
  }
};

/// y = the rows of x that are `distance` rows further on, and 0 where x has no such row. The distance is `begin` minus
/// the first row of the part, or the reverse.
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

/// Copies the rows of the part out of x, and reports a part that lies outside x.
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

/// A slice of x [rows of the part, ...], or with `reverse` the rows of the part from a slice x.
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
