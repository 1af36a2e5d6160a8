#include <algorithm>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/box_copy.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

using List = std::vector<std::int64_t>;

void fill(const Tensor& tensor, double value) {
  const auto fill_as = [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::ranges::fill(tensor.mutable_data<T>(), static_cast<T>(value));
  };
  switch (tensor.dtype()) {
    case DType::float32:
      fill_as(static_cast<float*>(nullptr));
      break;
    case DType::int32:
      fill_as(static_cast<std::int32_t*>(nullptr));
      break;
    case DType::int64:
      fill_as(static_cast<std::int64_t*>(nullptr));
      break;
    case DType::uint8:
      fill_as(static_cast<std::uint8_t*>(nullptr));
      break;
    default:
      throw Error("pad", "cannot fill " + to_string(tensor));
  }
}

/// The part of the batch that a value [rows, ...] belongs to. Throws Error if the batch info has another number of
/// rows.
BatchInfo part_of(const char* op, const Tensor& batch_info, std::int64_t rows) {
  const auto part = BatchInfo::read(batch_info);
  if (part.rows != rows || part.first_row < 0)
    throw Error(op, "the batch info says " + std::to_string(part.rows) + " rows from row " +
                        std::to_string(part.first_row) + " on, but there are " + std::to_string(rows));
  return part;
}

/// The rows of a part that are among the rows `begin` to `begin + size` of the batch.
struct CommonRows {
  std::int64_t in_part, in_slice, count;

  CommonRows(const BatchInfo& part, std::int64_t begin, std::int64_t size) {
    const auto first = std::max(part.first_row, begin);
    count = std::max<std::int64_t>(0, std::min(part.first_row + part.rows, begin + size) - first);
    in_part = first - part.first_row;
    in_slice = first - begin;
  }
};

}  // namespace

std::unique_ptr<Kernel> make_slice(const OpCall& call) {
  const auto& sizes = call.outputs[0].shape;
  const BoxCopy copy({call.inputs[0].shape, call.attributes.list("begin")}, {sizes, List(sizes.rank(), 0)}, sizes,
                     size_of(call.outputs[0].dtype));
  return function_kernel([copy](Inputs in, Outputs out) { copy(in[0].address(), out[0].address()); });
}

std::unique_ptr<Kernel> make_pad(const OpCall& call) {
  const auto& sizes = call.inputs[0].shape;
  const BoxCopy copy({sizes, List(sizes.rank(), 0)}, {call.outputs[0].shape, call.attributes.list("before")}, sizes,
                     size_of(call.outputs[0].dtype));
  return function_kernel([copy, value = call.attributes.number("value")](Inputs in, Outputs out) {
    fill(out[0], value);
    copy(in[0].address(), out[0].address());
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
  return function_kernel([copies](Inputs in, Outputs out) {
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i](in[i].address(), out[0].address());
  });
}

std::unique_ptr<Kernel> make_slice_rows(const OpCall& call) {
  const auto begin = call.attributes.integer("begin");
  const auto width = call.inputs[0].shape.row_elements();
  return function_kernel([begin, width](Inputs in, Outputs out) {
    const CommonRows rows(part_of("slice_rows", in[1], in[0].shape()[0]), begin, out[0].shape()[0]);
    std::ranges::fill(out[0].mutable_data<float>(), 0.0F);
    copy_floats(floats(in[0]) + rows.in_part * width, mutable_floats(out[0]) + rows.in_slice * width,
                rows.count * width);
  });
}

std::unique_ptr<Kernel> make_slice_rows_grad(const OpCall& call) {
  const auto begin = call.attributes.integer("begin");
  const auto width = call.outputs[0].shape.row_elements();
  return function_kernel([begin, width](Inputs in, Outputs out) {
    const CommonRows rows(part_of("slice_rows_grad", in[1], out[0].shape()[0]), begin, in[0].shape()[0]);
    std::ranges::fill(out[0].mutable_data<float>(), 0.0F);
    copy_floats(floats(in[0]) + rows.in_slice * width, mutable_floats(out[0]) + rows.in_part * width,
                rows.count * width);
  });
}

std::unique_ptr<Kernel> make_rows_of_part(const OpCall& call) {
  const auto width = call.outputs[0].shape.row_elements();
  return function_kernel([width](Inputs in, Outputs out) {
    const auto part = part_of("rows_of_part", in[2], out[0].shape()[0]);
    if (part.first_row > in[0].shape()[0] - part.rows)
      throw Error("rows_of_part", "rows " + std::to_string(part.first_row) + " to " +
                                      std::to_string(part.first_row + part.rows) + " of the batch are not in " +
                                      to_string(in[0]));
    copy_floats(floats(in[0]) + part.first_row * width, mutable_floats(out[0]), part.rows * width);
  });
}

}  // namespace troupe::cpu
