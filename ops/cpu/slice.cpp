#include <algorithm>
#include <cstring>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/walk.hpp"

namespace troupe::cpu {

namespace {

using List = std::vector<std::int64_t>;

/// Copies a box of `sizes` elements from one row-major array to another of the same rank.
class BoxCopy {
 public:
  /// The shape of an array, and the index of the first element of the box in it, by axis.
  struct Corner {
    Shape shape;
    List begin;
  };
  BoxCopy(const Corner& from, const Corner& to, const Shape& sizes, std::size_t element_bytes) {
    std::vector<Walk::Axis> axes;
    auto from_stride = static_cast<std::int64_t>(element_bytes), to_stride = from_stride;
    for (std::size_t axis = sizes.rank(); axis-- > 0;) {
      axes.push_back({sizes[axis], {from_stride, to_stride}});
      from_offset_ += from.begin[axis] * from_stride;
      to_offset_ += to.begin[axis] * to_stride;
      from_stride *= from.shape[axis];
      to_stride *= to.shape[axis];
    }
    walk_ = Walk(axes);
    run_bytes_ = static_cast<std::size_t>(walk_.run_length()) * element_bytes;
  }

  void operator()(const std::byte* from, std::byte* to) const {
    if (run_bytes_ == 0) return;
    walk_.for_each_run([&](std::int64_t, const Walk::Numbers& at) {
      std::memcpy(to + to_offset_ + at[1], from + from_offset_ + at[0], run_bytes_);
    });
  }

 private:
  Walk walk_;  // array 0 is the source, array 1 the target; strides and offsets are in bytes
  std::int64_t from_offset_ = 0, to_offset_ = 0;
  std::size_t run_bytes_;
};

void fill(const Tensor& tensor, double value) {
  with_element_type(tensor.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::ranges::fill(tensor.mutable_data<T>(), static_cast<T>(value));
  });
}

/// The part of the batch that this replica has, read from the batch info tensor. Throws Error, in the name of `op`,
/// unless the part has `rows` rows and its first row is not negative.
BatchInfo part_of(const char* op, const Tensor& batch_info, std::int64_t rows) {
  const auto part = BatchInfo::read(batch_info);
  if (part.rows != rows || part.first_row < 0)
    throw Error(op, "the batch info says " + std::to_string(part.rows) + " rows from row " +
                        std::to_string(part.first_row) + " on, but there are " + std::to_string(rows));
  return part;
}

/// A kernel that copies the rows common to this replica's part of the batch and to a slice, which begins at row `begin`
/// of the batch: from the part to the slice if `to_slice`, else, for the gradient, from the slice to the part. The
/// other rows of the output become zeros.
std::unique_ptr<Kernel> copy_common_rows(const OpCall& call, const char* op, bool to_slice) {
  const auto begin = call.attributes.integer("begin"), width = call.inputs[0].shape.row_elements();
  return function_kernel([=](Inputs in, Outputs out) {
    const auto part_rows = (to_slice ? in : out)[0].shape()[0], slice_rows = (to_slice ? out : in)[0].shape()[0];
    const auto part = part_of(op, in[1], part_rows);
    const auto first = std::max(part.first_row, begin);
    const auto count = std::max<std::int64_t>(0, std::min(part.first_row + part.rows, begin + slice_rows) - first);
    const auto in_part = (first - part.first_row) * width, in_slice = (first - begin) * width;
    std::ranges::fill(out[0].mutable_data<float>(), 0.0F);
    copy_floats(floats(in[0]) + (to_slice ? in_part : in_slice),
                mutable_floats(out[0]) + (to_slice ? in_slice : in_part), count * width);
  });
}

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

// The kernel copies only inputs that do not lie at their place in the block already: the memory plan of a graph may
// place the memory of an input there.
std::unique_ptr<Kernel> make_pack(const OpCall& call) {
  return function_kernel([offsets = pack_offsets(call.inputs)](Inputs in, Outputs out) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      auto* place = mutable_floats(out[0]) + offsets[i];
      if (place != floats(in[i])) copy_floats(floats(in[i]), place, in[i].elements());
    }
  });
}

std::unique_ptr<Kernel> make_slice_rows(const OpCall& call) {
  return copy_common_rows(call, "slice_rows", true);
}
std::unique_ptr<Kernel> make_slice_rows_grad(const OpCall& call) {
  return copy_common_rows(call, "slice_rows_grad", false);
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
