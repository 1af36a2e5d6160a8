#include "troupe/ops/core/batch_info.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

void expect_batch_info(const Tensor& tensor) {
  if (!(TensorInfo{tensor.shape(), tensor.dtype()} == BatchInfo::info()))
    throw Error("batch_info", to_string(tensor) + " is not int64[4]");
}

}  // namespace

BatchInfo BatchInfo::read(const Tensor& tensor) {
  expect_batch_info(tensor);
  const auto numbers = tensor.data<std::int64_t>();
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

void BatchInfo::write(const Tensor& tensor) const {
  expect_batch_info(tensor);
  const auto numbers = tensor.mutable_data<std::int64_t>();
  numbers[0] = rows;
  numbers[1] = global_rows;
  numbers[2] = first_row;
  numbers[3] = step;
}

}  // namespace troupe
