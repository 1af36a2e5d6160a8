#include <numeric>
#include <vector>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/device/walk.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/map.cuh"

namespace troupe::cuda {

namespace {

using List = std::vector<std::int64_t>;

/// Copies a box of elements between two row-major arrays of the same rank on a device.
class BoxCopy {
 public:
  struct Corner {
    Shape shape;  ///< shape of the array
    List begin;   ///< corner of the box in the array
  };
  BoxCopy(const Corner& from, const Corner& to, const Shape& sizes, DType dtype);

  /// Launches the copy.
  void operator()(const Launch& where, const std::byte* from, std::byte* to) const;

 private:
  template <class Unit>
  void copy(const Launch& where, const std::byte* from, std::byte* to) const;

  std::vector<WalkAxis<2>> axes_;  // axes of the box, strides in bytes; the last is a run of contiguous bytes
  std::int64_t from_offset_ = 0, to_offset_ = 0;
  bool empty_;
};

BoxCopy::BoxCopy(const Corner& from, const Corner& to, const Shape& sizes, DType dtype)
    : empty_(sizes.elements() == 0) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  auto from_stride = bytes, to_stride = bytes, run = bytes;
  bool in_run = true;
  for (std::size_t axis = sizes.rank(); axis-- > 0;) {
    from_offset_ += from.begin[axis] * from_stride;
    to_offset_ += to.begin[axis] * to_stride;
    if (in_run)
      run *= sizes[axis];
    else
      axes_.insert(axes_.begin(), {sizes[axis], {from_stride, to_stride}});
    // The run of contiguous bytes grows from the innermost axis outward. It ends with the first axis along which the
    // box does not cover both arrays.
    in_run = in_run && sizes[axis] == from.shape[axis] && sizes[axis] == to.shape[axis];
    from_stride *= from.shape[axis];
    to_stride *= to.shape[axis];
  }
  axes_.push_back({run, {1, 1}});
}

template <class Unit>
void BoxCopy::copy(const Launch& where, const std::byte* from, std::byte* to) const {
  constexpr std::int64_t kBytes = sizeof(Unit);
  auto axes = axes_;
  for (auto& axis : axes)
    for (auto& stride : axis.strides) stride /= kBytes;
  axes.back() = {axes.back().size / kBytes, {1, 1}};
  const Walk<2> walk(axes);
  for_each(where, walk.elements(),
           CopyWalk<Unit>{walk, reinterpret_cast<const Unit*>(from), reinterpret_cast<Unit*>(to)});
}

void BoxCopy::operator()(const Launch& where, const std::byte* from, std::byte* to) const {
  if (empty_) return;
  from += from_offset_;
  to += to_offset_;
  // The greatest common divisor, in bytes, of the run, all strides and both addresses. The copy moves the largest type
  // whose size divides it.
  auto unit = std::gcd(reinterpret_cast<std::intptr_t>(from), reinterpret_cast<std::intptr_t>(to));
  unit = std::gcd(unit, static_cast<std::intptr_t>(axes_.back().size));
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i)
    for (const auto stride : axes_[i].strides) unit = std::gcd(unit, static_cast<std::intptr_t>(stride));
  if (unit % 16 == 0) return copy<uint4>(where, from, to);
  if (unit % 8 == 0) return copy<std::uint64_t>(where, from, to);
  if (unit % 4 == 0) return copy<std::uint32_t>(where, from, to);
  if (unit % 2 == 0) return copy<std::uint16_t>(where, from, to);
  copy<std::uint8_t>(where, from, to);
}

void fill(const Launch& where, const Tensor& tensor, double value) {
  with_type<std::int32_t, std::int64_t, std::uint8_t, float>(tensor.dtype(), [&](auto element) {
    using T = decltype(element);
    for_each(where, tensor.elements(), Fill<T>{static_cast<T>(value), mutable_data_of<T>(tensor)});
  });
}

}  // namespace

std::unique_ptr<Kernel> make_slice(const OpCall& call) {
  const auto& sizes = call.outputs[0].shape;
  const BoxCopy copy({call.inputs[0].shape, call.attributes.list("begin")}, {sizes, List(sizes.rank(), 0)}, sizes,
                     call.outputs[0].dtype);
  return cuda_kernel(
      call, [copy](const Launch& where, Inputs in, Outputs out) { copy(where, in[0].address(), out[0].address()); });
}

std::unique_ptr<Kernel> make_pad(const OpCall& call) {
  const auto& sizes = call.inputs[0].shape;
  const BoxCopy copy({sizes, List(sizes.rank(), 0)}, {call.outputs[0].shape, call.attributes.list("before")}, sizes,
                     call.outputs[0].dtype);
  return cuda_kernel(call,
                     [copy, value = call.attributes.number("value")](const Launch& where, Inputs in, Outputs out) {
                       fill(where, out[0], value);
                       copy(where, in[0].address(), out[0].address());
                     });
}

std::unique_ptr<Kernel> make_concat(const OpCall& call) {
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  std::vector<BoxCopy> copies;
  List begin(call.outputs[0].shape.rank(), 0);
  for (const auto& input : call.inputs) {
    copies.emplace_back(BoxCopy::Corner{input.shape, List(begin.size(), 0)},
                        BoxCopy::Corner{call.outputs[0].shape, begin}, input.shape, input.dtype);
    begin[axis] += input.shape[axis];
  }
  return cuda_kernel(call, [copies](const Launch& where, Inputs in, Outputs out) {
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i](where, in[i].address(), out[0].address());
  });
}

}  // namespace troupe::cuda
