#pragma once

#include <cstdint>
#include <vector>

#include "troupe/ops/graph/program.hpp"

namespace troupe::ops_test {

/// Returns the result, on a device, of `op` for rows of `columns` numbers.
template <class Op>
std::vector<float> of_rows(Device device, std::int64_t columns, const std::vector<float>& numbers, const Op& op) {
  const auto rows = static_cast<std::int64_t>(numbers.size()) / columns;
  GraphBuilder builder;
  builder.output("y", op(builder.input("x", {kBatch, columns})));
  Program program(std::move(builder).build(), rows, device);
  program.bind("x", Tensor::from<float>({rows, columns}, numbers).to(device));
  program.run();
  const auto result = program.output("y").copy_to_host();
  const auto elements = result.data<float>();
  return {elements.begin(), elements.end()};
}

}  // namespace troupe::ops_test
