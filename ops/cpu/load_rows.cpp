#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/data/normalize.hpp"

namespace troupe::cpu {

namespace {

/// Calls load(from, to) with the addresses of each sample's row in the data and in the batch.
template <class Load>
void for_each_sample(const Tensor& data, const Tensor& numbers, const Tensor& batch, Load load) {
  const auto rows = data.shape()[0];
  const auto row_bytes = data.bytes() / static_cast<std::size_t>(rows);
  auto* to = batch.mutable_raw();
  const auto to_bytes = batch.bytes() / static_cast<std::size_t>(numbers.elements());
  std::int64_t place = 0;
  for (const auto number : numbers.data<std::int32_t>()) {
    if (number < 0 || number >= rows)
      throw Error("load_rows", "index " + std::to_string(number) + " at place " + std::to_string(place) +
                                   " is not one of the " + std::to_string(rows) + " rows");
    ++place;
    load(data.raw() + static_cast<std::size_t>(number) * row_bytes, to);
    to += to_bytes;
  }
}

template <class T>
std::unique_ptr<Kernel> scaled_rows(const OpCall& call, const T* /*type*/) {
  const auto scale = static_cast<float>(call.attributes.number("scale"));
  const auto shift = static_cast<float>(call.attributes.number("shift"));
  return function_kernel([=, width = call.inputs[0].shape.row_elements()](Inputs in, Outputs out) {
    for_each_sample(in[0], in[1], out[0], [&](const std::byte* from, std::byte* to) {
      normalize(width, reinterpret_cast<const T*>(from), scale, shift, reinterpret_cast<float*>(to));
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_load_rows(const OpCall& call) {
  if (!call.attributes.has("scale"))
    return function_kernel([](Inputs in, Outputs out) {
      const auto row_bytes = in[0].bytes() / static_cast<std::size_t>(in[0].shape()[0]);
      for_each_sample(in[0], in[1], out[0],
                      [&](const std::byte* from, std::byte* to) { std::memcpy(to, from, row_bytes); });
    });
  if (call.inputs[0].dtype == DType::uint8) return scaled_rows(call, static_cast<std::uint8_t*>(nullptr));
  return scaled_rows(call, static_cast<float*>(nullptr));
}

}  // namespace troupe::cpu
