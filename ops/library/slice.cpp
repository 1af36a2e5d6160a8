#include "troupe/ops/library/slice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

using List = std::vector<std::int64_t>;

// The largest padding, and the largest begin and size of slice_rows, that are accepted. Sums of two such numbers do not
// overflow.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

// The shape rule of slice. Attributes: the lists begin and size, by axis. At the batch axis they hold 0 and kBatch.
std::vector<TensorInfo> infer_slice(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  const auto& shape = inputs.shape(0);
  const auto& begin = inputs.attributes.list("begin");
  const auto& size = inputs.attributes.list("size");
  if (begin.size() != shape.rank() || size.size() != shape.rank()) inputs.refuse("needs begin and size of every axis");
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == kBatch ? begin[axis] == 0 && size[axis] == kBatch
                              : begin[axis] >= 0 && size[axis] >= 0 && size[axis] <= shape[axis] - begin[axis])
      continue;
    inputs.refuse(std::to_string(size[axis]) + " elements from " + std::to_string(begin[axis]) +
                  " on are not within axis " + std::to_string(axis));
  }
  return {{Shape(size), inputs[0].dtype}};
}

std::vector<Value> grad_slice(const OpGradient& g) {
  const auto shape = g.inputs[0].shape();
  const auto& begin = g.attributes.list("begin");
  List after(shape.rank(), 0);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] != kBatch) after[axis] = shape[axis] - begin[axis] - g.outputs[0].shape()[axis];
  return {pad(g.dys[0], begin, after)};
}

/// True if a tensor of the dtype can be padded with `value`: always for float32, never for 16-bit floats, and for
/// integers if `value` is an integer in the range of the dtype, for int64 within -2^53 .. 2^53.
bool holds(DType dtype, double value) {
  const auto is_integer_in = [value](double least, double most) {
    return value >= least && value <= most && value == std::floor(value);
  };
  if (dtype == DType::int32) return is_integer_in(-0x1.0p31, 0x1.0p31 - 1.0);
  if (dtype == DType::int64) return is_integer_in(-0x1.0p53, 0x1.0p53);
  if (dtype == DType::uint8) return is_integer_in(0.0, 255.0);
  return dtype == DType::float32;
}

// The shape rule of pad. Attributes: the lists before and after, by axis, and value, the number with which x is padded.
std::vector<TensorInfo> infer_pad(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  const auto& shape = inputs.shape(0);
  const auto& before = inputs.attributes.list("before");
  const auto& after = inputs.attributes.list("after");
  if (before.size() != shape.rank() || after.size() != shape.rank())
    inputs.refuse("needs the padding before and after every axis");
  if (!holds(inputs[0].dtype, inputs.attributes.number("value")))
    inputs.refuse("the dtype does not hold the value " + std::to_string(inputs.attributes.number("value")));
  auto sizes = shape.list();
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (before[axis] < 0 || after[axis] < 0) inputs.refuse("the padding must not be negative");
    if (before[axis] > kMaxSize || after[axis] > kMaxSize) inputs.refuse("the padding is too large");
    if (shape[axis] == kBatch && before[axis] + after[axis] != 0) inputs.refuse("the batch axis cannot be padded");
    sizes[axis] += before[axis] + after[axis];
  }
  return {{Shape(sizes), inputs[0].dtype}};
}

std::vector<Value> grad_pad(const OpGradient& g) {
  const auto shape = g.inputs[0].shape();
  return {g.builder.apply_one(kSlice, {g.dys[0]}, {{"begin", g.attributes.list("before")}, {"size", shape.list()}})};
}

std::vector<TensorInfo> infer_concat(const OpInputs& inputs) {
  if (inputs.size() == 0) inputs.refuse("needs at least one value");
  const auto axis = axis_of(inputs);
  auto sizes = inputs.shape(0).list();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    auto other = inputs.shape(i).list();
    if (inputs.shape(i).has_batch() && axis == 0) inputs.refuse("the axis must not be the batch");
    if (inputs[i].dtype != inputs[0].dtype || other.size() != sizes.size())
      inputs.refuse("the values differ in dtype or number of axes");
    sizes[axis] += other[axis];
    other[axis] = sizes[axis];
    if (other != sizes) inputs.refuse("only the sizes of axis " + std::to_string(axis) + " may differ");
  }
  return {{Shape(sizes), inputs[0].dtype}};
}

std::vector<Value> grad_concat(const OpGradient& g) {
  List sizes;
  const auto axis = g.attributes.integer("axis");
  for (const auto& input : g.inputs) sizes.push_back(input.shape()[static_cast<std::size_t>(axis)]);
  return split(g.dys[0], axis, sizes);
}

std::vector<TensorInfo> infer_slice_rows(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_batch_info(1);
  if (!inputs.shape(0).has_batch()) inputs.refuse("needs a value that derives from the batch");
  const auto begin = inputs.attributes.integer("begin"), size = inputs.attributes.integer("size");
  if (begin < 0 || size < 0 || begin > kMaxSize || size > kMaxSize)
    inputs.refuse("begin and size must not be negative, nor larger than any batch");
  return {{inputs.shape(0).with_rows(size), DType::float32}};
}

// The shape rule of slice_rows_grad. Inputs: dy [size, ...], the batch info, and x, which gives the number of rows of
// this replica. Attributes: begin, size. Output: the gradient of x.
std::vector<TensorInfo> infer_slice_rows_grad(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  inputs.expect_batch_info(1);
  return {inputs[2]};
}

std::vector<Value> grad_slice_rows(const OpGradient& g) {
  return {g.builder.apply_one(kSliceRowsGrad, {g.dys[0], g.inputs[1], g.inputs[0]}, g.attributes), Value()};
}

std::vector<TensorInfo> infer_rows_of_part(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_batch_info(2);
  if (!inputs.shape(1).has_batch()) inputs.refuse("needs a value that derives from the batch, for its rows");
  const auto& shape = inputs.shape(0);
  if (shape.rank() == 0 || shape.has_batch() || shape[0] == 0)
    inputs.refuse("needs a value [N, ...] that does not derive from the batch");
  auto sizes = shape.list();
  sizes[0] = kBatch;
  return {{Shape(sizes), DType::float32}};
}

std::vector<Value> grad_rows_of_part(const OpGradient& g) {
  return {slice_rows(g.dys[0], 0, g.inputs[0].shape()[0], g.inputs[2]), Value(), Value()};
}

/// Converts an axis, which may be negative and then counts from the end, to one that counts from the first axis. Throws
/// Error, in the name of `op`, if x does not have it.
std::int64_t from_the_front(const char* op, Value x, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(x.shape().rank());
  if (axis < -rank || axis >= rank)
    throw Error(op, "there is no axis " + std::to_string(axis) + ": " + to_string(x.info()));
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

const OpDef kSlice{
    .name = "slice", .infer = infer_slice, .gradient = grad_slice, .half = HalfKernels::all, .role = HalfRole::follows};
const OpDef kPad{.name = "pad", .infer = infer_pad, .gradient = grad_pad, .accepts_empty = true};
const OpDef kConcat{.name = "concat",
                    .infer = infer_concat,
                    .gradient = grad_concat,
                    .accepts_empty = true,
                    .half = HalfKernels::all,
                    .role = HalfRole::follows};
const OpDef kSliceRows{.name = "slice_rows", .infer = infer_slice_rows, .gradient = grad_slice_rows};
const OpDef kSliceRowsGrad{.name = "slice_rows_grad", .infer = infer_slice_rows_grad};
const OpDef kRowsOfPart{.name = "rows_of_part", .infer = infer_rows_of_part, .gradient = grad_rows_of_part};

Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t size) {
  const auto at = static_cast<std::size_t>(from_the_front("slice", x, axis));
  auto sizes = x.shape().list();
  List begins(sizes.size(), 0);
  begins[at] = begin;
  sizes[at] = size;
  return x.builder().apply_one(kSlice, {x}, {{"begin", begins}, {"size", sizes}});
}

std::vector<Value> split(Value x, std::int64_t axis, const List& sizes) {
  axis = from_the_front("split", x, axis);
  if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != x.shape()[static_cast<std::size_t>(axis)])
    throw Error("split", "the parts " + to_string(Shape(sizes)) + " do not add up to axis " + std::to_string(axis) +
                             " of " + to_string(x.info()));
  std::vector<Value> parts;
  std::int64_t begin = 0;
  for (auto size : sizes) {
    parts.push_back(slice(x, axis, begin, size));
    begin += size;
  }
  return parts;
}

std::vector<Value> split(Value x, std::int64_t axis, std::int64_t parts) {
  const auto size = x.shape()[static_cast<std::size_t>(from_the_front("split", x, axis))];
  if (parts < 1 || parts > std::max<std::int64_t>(1, std::abs(size)) || size % parts != 0)
    throw Error("split", to_string(x.info()) + " does not split into " + std::to_string(parts) + " equal parts");
  return split(x, axis, List(static_cast<std::size_t>(parts), size / parts));
}

Value pad(Value x, const List& before, const List& after, double value) {
  return x.builder().apply_one(kPad, {x}, {{"before", before}, {"after", after}, {"value", value}});
}

Value concat(std::span<const Value> values, std::int64_t axis) {
  if (values.empty()) throw Error("concat", "needs at least one value");
  return values[0].builder().apply(kConcat, values, {{"axis", from_the_front("concat", values[0], axis)}}).at(0);
}

Value slice_rows(Value x, std::int64_t begin, std::int64_t size, Value batch_info) {
  return x.builder().apply_one(kSliceRows, {x, batch_info}, {{"begin", begin}, {"size", size}});
}

Value rows_of_part(Value x, Value like, Value batch_info) {
  return x.builder().apply_one(kRowsOfPart, {x, like, batch_info});
}

}  // namespace troupe
