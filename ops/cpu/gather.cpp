#include <algorithm>
#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/block_sums.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/data/normalize.hpp"

namespace troupe::cpu {

namespace {

/// Calls visit(i, index) for every index. Throws InvalidSample, in the name of `op`, if an index is not in [0, bound).
template <class Visit>
void for_each_index(const char* op, const Tensor& indices, std::int64_t bound, Visit visit) {
  const bool wide = indices.dtype() == DType::int64;
  const auto row_elements = std::max<std::int64_t>(1, indices.shape().row_elements());
  for (std::int64_t i = 0; i < indices.elements(); ++i) {
    const std::int64_t index = wide ? indices.data<std::int64_t>()[static_cast<std::size_t>(i)]
                                    : indices.data<std::int32_t>()[static_cast<std::size_t>(i)];
    if (index < 0 || index >= bound)
      throw InvalidSample(op,
                          "index " + std::to_string(index) + " " + InvalidSample::place_text(i, row_elements) +
                              " is not one of the " + std::to_string(bound) + " rows",
                          i, row_elements);
    visit(i, index);
  }
}

TROUPE_SIMD_CLONES void add_to(std::int64_t n, const float* x, float* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

/// A kernel that copies, for each index in input 1, the row of input 0 with that number. Errors are in the name of
/// `op`.
std::unique_ptr<Kernel> gather_rows(const OpCall& call, const char* op) {
  const auto& data = call.inputs[0];
  const auto row_bytes = data.shape.row_elements() * static_cast<std::int64_t>(size_of(data.dtype));
  return function_kernel([op, row_bytes, rows = data.shape[0]](Inputs in, Outputs out) {
    for_each_index(op, in[1], rows, [&](std::int64_t i, std::int64_t index) {
      std::memcpy(out[0].address() + i * row_bytes, in[0].address() + index * row_bytes,
                  static_cast<std::size_t>(row_bytes));
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_gather(const OpCall& call) {
  return gather_rows(call, "gather");
}

std::unique_ptr<Kernel> make_load_rows(const OpCall& call) {
  if (!call.attributes.has("scale")) return gather_rows(call, "load_rows");
  const auto& data = call.inputs[0];
  const auto rows = data.shape[0], width = data.shape.row_elements();
  return function_kernel([=, dtype = data.dtype, scale = float_attribute(call, "scale"),
                          shift = float_attribute(call, "shift")](Inputs in, Outputs out) {
    const auto row_bytes = width * static_cast<std::int64_t>(size_of(dtype));
    for_each_index("load_rows", in[1], rows, [&](std::int64_t i, std::int64_t index) {
      normalize(width, dtype, in[0].address() + index * row_bytes, scale, shift, mutable_floats(out[0]) + i * width);
    });
  });
}

// A block of sums is a second table, so it has as many rows as a table, and few runs have more than one block.
std::unique_ptr<Kernel> make_scatter_add(const OpCall& call) {
  constexpr std::int64_t kRowsOfBlock = std::int64_t{1} << 16;
  const auto& table = call.outputs[0].shape;
  BlockSums all_sums(table.elements(), call.inputs[1].shape.elements(), std::max(kRowsOfBlock, table[0]));
  return function_kernel(
      [sums = std::move(all_sums), rows = table[0], width = table.row_elements()](Inputs in, Outputs out) mutable {
        sums.begin(mutable_floats(out[0]));
        for_each_index("scatter_add", in[1], rows, [&](std::int64_t i, std::int64_t index) {
          add_to(width, floats(in[0]) + i * width, sums.next_row() + index * width);
        });
        sums.finish();
      });
}

std::unique_ptr<Kernel> make_one_hot(const OpCall& call) {
  return function_kernel([classes = call.attributes.integer("classes")](Inputs in, Outputs out) {
    std::ranges::fill(out[0].mutable_data<float>(), 0.0F);
    for_each_index("one_hot", in[0], classes,
                   [&](std::int64_t i, std::int64_t index) { mutable_floats(out[0])[i * classes + index] = 1.0F; });
  });
}

}  // namespace troupe::cpu
